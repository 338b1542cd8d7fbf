package grammar

import (
	"math/rand/v2"
	"slices"
)

// ownRule is a rule without calls, whose states allow the same tokens in every grammar. With its table, the
// walk through the trie takes one look-up per byte.
type ownRule struct {
	states []state
	first  int32
	tables []*[256]int32 // by state: the next state for each byte, minus first; -1: none
	used   []int32       // states with a table
	alike  *likeness     // nil: unknown
	nonce  uint64        // identifies this rule
}

// newOwnRule returns nil for a rule with calls.
func newOwnRule(states []state, first int32) *ownRule {
	if slices.ContainsFunc(states, func(s state) bool { return len(s.calls) > 0 }) {
		return nil
	}
	return &ownRule{states: states, first: first, alike: newLikeness(states, first), nonce: rand.Uint64()}
}

// ownRule is the ownRule of a state, or nil.
func (c *Compiled) ownRule(id int32) *ownRule { return c.own[c.ruleOf(id)] }

// key is equal for states of any grammars that allow the same tokens of up to shortBytes bytes. In a string
// of limited length, these are all states far from its end.
func (o *ownRule) key(id int32) uint64 {
	if o.alike == nil {
		return o.nonce ^ uint64(id-o.first)<<1 | 1
	}
	return o.alike.key(id-o.first, rounds) &^ 1
}

// ownMask is the mask of a state of such a rule: the shared mask of short tokens, and the long tokens.
func (c *Compiled) ownMask(own *ownRule, id int32) *stateMask {
	v, key := c.vocabulary, own.key(id)
	v.mu.Lock()
	short := v.shared[key]
	v.mu.Unlock()
	if short == nil {
		short = c.walkOwn(own, id, 0, v.long)
		v.mu.Lock()
		if len(v.shared) >= maxShared {
			clear(v.shared)
		}
		v.shared[key] = short
		v.mu.Unlock()
	}
	long := c.walkOwn(own, id, v.long, int32(len(v.trie)))
	return short.with(v, long)
}

// table is the table of a state.
func (o *ownRule) table(at int32) *[256]int32 {
	if o.tables[at] == nil {
		t := new([256]int32)
		for b := range t {
			t[b] = -1
		}
		for _, e := range o.states[at].edges {
			for b := int(e.lo); b <= int(e.hi); b++ {
				t[b] = e.to - o.first
			}
		}
		o.tables[at] = t
		o.used = append(o.used, at)
	}
	return o.tables[at]
}

// walkOwn is what a part of the trie allows after a state.
func (c *Compiled) walkOwn(o *ownRule, id, first, end int32) *stateMask {
	v, m := c.vocabulary, &stateMask{}
	var found []int32
	if o.tables == nil {
		o.tables = make([]*[256]int32, len(o.states))
	}
	path := make([]*[256]int32, v.depth+1)
	path[0] = o.table(id - o.first)
	steps := 0
	for i := first; i < end; {
		t := &v.trie[i]
		to := path[t.depth][t.b]
		if steps++; to < 0 {
			i = t.skip
			continue
		}
		if t.token >= 0 {
			found = append(found, t.token)
		}
		if o.states[to].accept && t.skip > i+1 {
			m.exits = append(m.exits, i)
		}
		table := o.tables[to]
		if table == nil {
			table = o.table(to)
		}
		path[t.depth+1] = table
		i++
	}
	for _, at := range o.used {
		o.tables[at] = nil
	}
	o.used = o.used[:0]
	c.graph.spend(steps / 4) // these steps are fast
	m.set(v, found)
	return m
}
