package grammar

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// ownRule is a rule without calls, whose states allow tokens whatever the grammar is. Its
// table makes the walk through the whole trie a matter of one look-up for each byte.
type ownRule struct {
	states []state
	first  int32
	tables []*[256]int32 // by state: where a byte leads, less first; -1: nowhere
	// alike is the same for states that no token can tell apart, in whatever rule: of a
	// string with a limit on its length, all that are far from its end.
	alike []uint64
}

// newOwnRule is nil for a rule with calls.
func newOwnRule(states []state, first int32) *ownRule {
	if slices.ContainsFunc(states, func(s state) bool { return len(s.calls) > 0 }) {
		return nil
	}
	return &ownRule{states: states, first: first}
}

// ownRule is that of a state, or nil.
func (c *Compiled) ownRule(id int32) *ownRule {
	own := c.own[c.ruleOf(id)]
	if own != nil && own.alike == nil {
		own.compare(c.vocabulary.depth)
	}
	return own
}

// likeness hides from clients which states would collide.
var likeness = maphash.MakeSeed()

// compare finds out which states are alike for tokens of up to so many bytes: after n
// rounds, the numbers tell apart what n bytes can (Moore's algorithm, stopped early).
func (o *ownRule) compare(depth int) {
	now, next := make([]uint64, len(o.states)), make([]uint64, len(o.states))
	var key []byte
	for range depth + 1 {
		for i := range o.states {
			s := &o.states[i]
			key = append(key[:0], 0)
			if s.accept {
				key[0] = 1
			}
			for at := 0; at < len(s.edges); {
				e := s.edges[at]
				to := now[e.to-o.first]
				for at++; at < len(s.edges) && s.edges[at].lo == e.hi+1 && now[s.edges[at].to-o.first] == to; at++ {
					e.hi = s.edges[at].hi
				}
				key = binary.LittleEndian.AppendUint64(append(key, e.lo, e.hi), to)
			}
			next[i] = maphash.Bytes(likeness, key)
		}
		now, next = next, now
	}
	o.alike = now
}

// table is that of a state.
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
	}
	return o.tables[at]
}

// findMask walks through the trie from a state.
func (o *ownRule) findMask(v *Vocabulary, id int32) *stateMask {
	m := &stateMask{}
	var found []int32
	o.tables = make([]*[256]int32, len(o.states))
	path := make([]*[256]int32, v.depth+1)
	path[0] = o.table(id - o.first)
	for i, end := int32(0), int32(len(v.trie)); i < end; {
		t := &v.trie[i]
		to := path[t.depth][t.b]
		if to < 0 {
			i = t.skip
			continue
		}
		if t.token >= 0 {
			found = append(found, t.token)
		}
		if o.states[to].accept && t.skip > i+1 {
			m.exits = append(m.exits, i)
		}
		path[t.depth+1] = o.table(to)
		i++
	}
	o.tables = nil
	m.set(v, found)
	return m
}
