package grammar

import (
	"context"
	"errors"
	"sort"
	"sync"
)

// Compiled is a grammar for a vocabulary. It is safe for concurrent use.
type Compiled struct {
	vocabulary *Vocabulary

	mu       sync.Mutex
	graph    *graph
	masks    map[int32]*stateMask // of states
	own      []*ownRule           // by rule
	path     []*node              // memory of walk
	deepest  int                  // deepest trie nodes that walk examines
	shallows int                  // number of incomplete masks
	begin    []entry
}

// Compile checks a grammar and prepares it for a vocabulary. Its work is limited, and ends with the context.
// An *Error says what is wrong with the grammar.
func Compile(ctx context.Context, g *Grammar, v *Vocabulary) (*Compiled, error) {
	a, err := determine(ctx, g, v)
	if err != nil {
		return nil, err
	}
	c := &Compiled{vocabulary: v, graph: newGraph(a), masks: map[int32]*stateMask{}, deepest: maxToken}
	for r, first := range a.start {
		end := int32(len(a.states))
		if r+1 < len(a.start) {
			end = a.start[r+1]
		}
		c.own = append(c.own, newOwnRule(a.states[first:end], first))
	}
	c.begin = []entry{{a.start[0], c.graph.end}}
	return c, c.probe()
}

// Check says what is wrong with a grammar, independent of a vocabulary.
func Check(ctx context.Context, g *Grammar) error {
	a, err := determine(ctx, g, nil)
	if err != nil {
		return err
	}
	c := &Compiled{graph: newGraph(a)}
	c.begin = []entry{{a.start[0], c.graph.end}}
	return c.probe()
}

// ruleOf is the rule of a state.
func (c *Compiled) ruleOf(id int32) int {
	start := c.graph.start
	return sort.Search(len(start), func(i int) bool { return start[i] > id }) - 1
}

// Matcher follows one text. Mask and Known are safe for concurrent use; the other methods are not.
type Matcher struct {
	c     *Compiled
	at    *node
	fixed []uint32 // the only mask of Unending
}

// Unending returns a matcher that allows all tokens except those that end a text, for the text before a
// grammar. Accept is not called on it.
func (v *Vocabulary) Unending() *Matcher {
	m := &Matcher{fixed: make([]uint32, v.Words())}
	for id := range int32(v.size) {
		m.fixed[id/32] |= 1 << (id % 32)
	}
	for _, id := range v.ends {
		m.fixed[id/32] &^= 1 << (id % 32)
	}
	return m
}

// ErrMismatch says that a text does not follow its grammar.
var ErrMismatch = errors.New("the text does not follow the grammar")

// NewMatcher returns a matcher at the beginning of a text.
func (c *Compiled) NewMatcher() *Matcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &Matcher{c: c}
	// Compile has done the same, so the work suffices.
	if err := c.graph.limited(func() { m.at = c.graph.closure(c.begin) }); err != nil {
		m.at = c.graph.dead
	}
	return m
}

// Accept advances by a token. If the token is not allowed, it returns ErrMismatch and does not advance.
func (m *Matcher) Accept(id int32) error {
	v := m.c.vocabulary
	if id < 0 || int(id) >= v.size {
		return ErrMismatch
	}
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	g := m.c.graph
	return m.advance(func() *node {
		to := g.dead
		if text := v.bytes[id]; len(text) > 0 {
			to = g.follow(m.at, text)
		}
		if !g.ids {
			return to
		}
		return g.merge(to, g.follow(m.at, idPath(id)))
	})
}

// AcceptText advances by bytes, as Accept does.
func (m *Matcher) AcceptText(text []byte) error {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	start := m.at
	for len(text) > 0 { // the limit is meant for a token
		n := min(len(text), acceptBytes)
		if err := m.advance(func() *node { return m.c.graph.follow(m.at, text[:n]) }); err != nil {
			m.at = start
			return err
		}
		text = text[n:]
	}
	return nil
}

// acceptBytes is the most bytes by which AcceptText advances at once.
const acceptBytes = 32

// advance moves to a node, unless it is dead.
func (m *Matcher) advance(to func() *node) error {
	var at *node
	err := m.c.graph.limited(func() { at = to() })
	if err == nil && at == m.c.graph.dead {
		err = ErrMismatch
	}
	if err == nil {
		m.at = at
	}
	return err
}

// CanEnd says whether the text may end here.
func (m *Matcher) CanEnd() bool { return m.at.end }

// MustEnd says whether nothing may follow.
func (m *Matcher) MustEnd() bool { return m.at.stuck }

// Known is the mask if it has been computed, else nil.
func (m *Matcher) Known() []uint32 {
	switch {
	case m.fixed != nil:
		return m.fixed
	case !m.c.mu.TryLock():
		return nil
	}
	defer m.c.mu.Unlock()
	return m.at.mask
}

// Mask is the tokens that may come next, one bit each; token 0 is the lowest bit of the first word. The
// caller must not change it.
func (m *Matcher) Mask() ([]uint32, error) {
	if m.fixed != nil {
		return m.fixed, nil
	}
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	at := m.at
	if at.mask != nil {
		return at.mask, nil
	}
	mask, err := m.c.find(at)
	if err == nil {
		at.mask = mask
		m.c.graph.masked = append(m.c.graph.masked, at)
	}
	return mask, err
}
