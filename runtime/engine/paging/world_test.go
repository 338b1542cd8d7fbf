package paging

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// world is a pool, a device, and a simple model in which each session owns its tokens.
type world struct {
	pool     *Pool
	device   *device
	sessions []*session
	choose   chooser
	used     map[*node]int // the last operation in which a node was in use
	now      int
	refused  int // times that pages ran out
}

// session is a sequence with its expected content.
type session struct {
	*Sequence
	tokens []int32 // whose rows are there
	rest   []int32 // of the prompt
}

// chooser picks a number from 0 to n-1.
type chooser func(n int) int

func newWorld(choose chooser) *world {
	pages := 1 + choose(16)
	p, err := NewPool(pages)
	if err != nil {
		panic(err)
	}
	return &world{pool: p, device: newDevice(pages), choose: choose, used: map[*node]int{}}
}

// operations lists the operations of a schedule. A frequent operation is listed several times.
var operations = []func(*world) error{
	(*world).open, (*world).open, (*world).step, (*world).step, (*world).step, (*world).step,
	(*world).reserve, (*world).truncate, (*world).fork, (*world).close, (*world).close,
}

// do makes one random operation and checks all invariants.
func (w *world) do() error {
	w.now++
	w.stamp()
	before := w.pool.Stats()
	nodes := w.nodes()
	if err := operations[w.choose(len(operations))](w); err != nil {
		return err
	}
	w.stamp()
	if err := w.pool.Invariants(); err != nil {
		return err
	}
	if err := w.evictions(nodes, before); err != nil {
		return err
	}
	for _, s := range w.sessions {
		if !slices.Equal(s.Sequence.Tokens(), s.tokens) {
			return fmt.Errorf("a sequence of %d tokens holds others, or %d", len(s.tokens), s.Len())
		}
	}
	return nil
}

// pick returns a random session; nil if there is none.
func (w *world) pick() *session {
	if len(w.sessions) == 0 {
		return nil
	}
	return w.sessions[w.choose(len(w.sessions))]
}

// text returns random tokens with runs of equal ones, so that texts have much in common.
func (w *world) text() (out []int32) {
	for range w.choose(5) {
		token := int32(w.choose(2))
		out = append(out, slices.Repeat([]int32{token}, []int{1, 7, 32, 64, 65}[w.choose(5)])...)
	}
	return out
}

func (w *world) open() error {
	if len(w.sessions) == 6 { // else the pool is full of sessions that wait for pages
		return w.close()
	}
	prompt := w.text()
	if s := w.pick(); s != nil && w.choose(3) > 0 {
		prompt = slices.Concat(s.tokens[:w.choose(len(s.tokens)+1)], prompt)
	}
	scope := []string{"", "a"}[w.choose(2)]
	want := w.longest(scope, prompt)
	if w.choose(4) == 0 { // a private one finds nothing
		s := w.pool.OpenPrivate()
		w.sessions = append(w.sessions, &session{Sequence: s, rest: prompt})
		return nil
	}
	s, o := w.pool.Open(scope, prompt)
	w.device.order(s, o)
	if s.Len() != want {
		return fmt.Errorf("%d tokens of a prompt were found, want %d", s.Len(), want)
	}
	w.sessions = append(w.sessions, &session{Sequence: s, tokens: slices.Clone(prompt[:want]), rest: prompt[want:]})
	return nil
}

// longest returns how much of a prompt a scope's tree holds in whole pages. It compares every path.
func (w *world) longest(scope string, prompt []int32) int {
	if len(prompt) == 0 {
		return 0
	}
	best := 0
	var walk func(n *node, before []int32)
	walk = func(n *node, before []int32) {
		best = max(best, CommonPrefix(before, prompt[:len(prompt)-1]))
		for _, c := range n.children {
			walk(c, slices.Concat(before, c.tokens[:]))
		}
	}
	if root := w.pool.roots[scope]; root != nil {
		walk(root, nil)
	}
	return best / plan.PageRows * plan.PageRows
}

// step runs tokens of some sessions as one batch.
func (w *world) step() error {
	type piece struct {
		session *session
		tokens  []int32 // that are run; some of them may be drafts that fail
		keep    int
	}
	var batch []piece
	for _, s := range w.sessions {
		if w.choose(2) == 0 {
			continue
		}
		tokens, keep, err := w.next(s)
		if err != nil {
			return err
		}
		if ok, err := w.capacity(s, len(tokens)); err != nil {
			return err
		} else if ok {
			batch = append(batch, piece{s, tokens, keep})
		}
	}
	w.device.flush()
	for _, p := range batch {
		w.device.run(p.session.Sequence, p.session.tokens, p.tokens)
	}
	for _, p := range batch {
		all := slices.Concat(p.session.tokens, p.tokens)
		if err := w.device.attend(p.session.Sequence, all); err != nil {
			return err
		}
		o, err := p.session.Append(p.tokens[:p.keep])
		if err != nil {
			return err
		}
		w.device.order(p.session.Sequence, o)
		p.session.tokens = all[:len(p.session.tokens)+p.keep]
	}
	return w.contents()
}

// next returns the tokens that a session runs next: a piece of its prompt, or drafts.
func (w *world) next(s *session) (tokens []int32, keep int, err error) {
	if len(s.rest) == 0 {
		tokens = w.text()
		return tokens, w.choose(len(tokens) + 1), nil
	}
	if w.choose(2) == 0 {
		o, err := s.Reuse(s.rest)
		if err != nil {
			return nil, 0, err
		}
		w.device.order(s.Sequence, o)
		w.stamp() // Reserve may release at once what was found
		found := s.Len() - len(s.tokens)
		s.tokens = slices.Concat(s.tokens, s.rest[:found])
		s.rest = s.rest[found:]
	}
	n := 1 + w.choose(len(s.rest))
	tokens, s.rest = s.rest[:n], s.rest[n:]
	return tokens, n, nil
}

// capacity reserves n tokens and reports whether there were enough pages. Without enough pages the session
// gives up its prompt, and nothing else may change.
func (w *world) capacity(s *session, n int) (bool, error) {
	before, table, capacity := w.pool.Stats(), slices.Clone(s.Table()), s.Capacity()
	fits := w.fits(s, n)
	o, err := s.Reserve(n)
	w.device.order(s.Sequence, o)
	var out *OutOfPages
	switch {
	case fits && err == nil && s.Capacity() >= n:
		return true, nil
	case fits || !errors.As(err, &out):
		return false, fmt.Errorf("room for %d: fits %v, room %d, %w", n, fits, s.Capacity(), err)
	case w.pool.Stats() != before || !slices.Equal(s.Table(), table) || s.Capacity() != capacity:
		return false, fmt.Errorf("out of pages has changed something: %w", err)
	case out.Needed <= out.Available || out.Available != before.Free+before.Cached:
		return false, fmt.Errorf("wrong numbers: %w", err)
	}
	w.refused++
	s.rest = nil
	return false, nil
}

// fits reports whether the pages that no other session holds are enough: pages that the session may write to,
// pages that nobody holds, and the session's last page if the tree is its only other holder.
func (w *world) fits(s *session, n int) bool {
	others := map[uint32]bool{}
	for _, other := range w.sessions {
		for _, id := range other.Table() {
			others[id] = others[id] || other != s
		}
	}
	free, held := w.pool.total, 0
	for id := range others {
		free--
		if !others[id] {
			held++
		}
	}
	full, mine := s.Len()/plan.PageRows, 0
	for i, id := range s.Table() {
		if i >= full && !others[id] {
			mine++
		}
	}
	return n == 0 || pagesOf(s.Len()+n)-full <= free+mine
}

func (w *world) reserve() error {
	if s := w.pick(); s != nil {
		_, err := w.capacity(s, w.choose(300))
		return err
	}
	return nil
}

func (w *world) truncate() error {
	s := w.pick()
	if s == nil {
		return nil
	}
	n := w.choose(len(s.tokens) + 1)
	s.tokens, s.rest = s.tokens[:n:n], nil
	if w.choose(2) == 0 {
		s.rest = w.text()
	}
	return s.Truncate(n)
}

func (w *world) fork() error {
	s := w.pick()
	if s == nil {
		return nil
	}
	f, o, err := s.Fork()
	w.device.order(f, o)
	w.sessions = append(w.sessions, &session{Sequence: f, tokens: slices.Clone(s.tokens), rest: s.rest})
	return err
}

func (w *world) close() error {
	if s := w.pick(); s != nil {
		s.Close()
		w.sessions = slices.DeleteFunc(w.sessions, func(other *session) bool { return other == s })
	}
	return nil
}
