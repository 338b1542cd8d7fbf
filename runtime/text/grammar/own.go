package grammar

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
)

// ownRule is a rule without calls, whose states allow tokens whatever the grammar is. Its
// table makes the walk through the whole trie a matter of one look-up for each byte.
type ownRule struct {
	states []state
	first  int32
	tables []*[256]int32 // by state: where a byte leads, less first; -1: nowhere
	used   []int32       // that have a table
	// class is the same for states that no token can tell apart: of a string with a limit
	// on its length, all that are far from its end.
	class []int32
	nonce uint64 // of this rule
}

// newOwnRule is nil for a rule with calls.
func newOwnRule(states []state, first int32, depth int) *ownRule {
	if slices.ContainsFunc(states, func(s state) bool { return len(s.calls) > 0 }) {
		return nil
	}
	return &ownRule{states: states, first: first, class: compare(states, first, depth), nonce: rand.Uint64()}
}

// ownRule is that of a state, or nil.
func (c *Compiled) ownRule(id int32) *ownRule { return c.own[c.ruleOf(id)] }

// likeness hides from clients which states would collide.
var likeness = maphash.MakeSeed()

// fewClasses is up to how many classes behind a state make a key that other grammars share.
const fewClasses = 32

// key is the same for states that are alike: of any grammar, if few classes are behind them,
// else of this rule.
func (o *ownRule) key(id int32) uint64 {
	numbers := map[int32]int32{o.class[id-o.first]: 0}
	queue := []int32{id - o.first}
	var key []byte
	for n := 0; n < len(queue); n++ {
		s := &o.states[queue[n]]
		key = look(key, s, func(e edge) uint32 {
			to := e.to - o.first
			number, ok := numbers[o.class[to]]
			if !ok {
				number = int32(len(numbers))
				numbers[o.class[to]] = number
				queue = append(queue, to)
			}
			return uint32(number)
		})
		if len(queue) > fewClasses {
			return o.nonce ^ uint64(o.class[id-o.first])<<1 | 1
		}
	}
	return maphash.Bytes(likeness, key) &^ 1
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
		o.used = append(o.used, at)
	}
	return o.tables[at]
}

// findMask walks through the trie from a state, and says how many nodes it looked at.
func (o *ownRule) findMask(v *Vocabulary, id int32) (m *stateMask, steps int) {
	m = &stateMask{}
	var found []int32
	if o.tables == nil {
		o.tables = make([]*[256]int32, len(o.states))
	}
	path := make([]*[256]int32, v.depth+1)
	path[0] = o.table(id - o.first)
	for i, end := int32(0), int32(len(v.trie)); i < end; {
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
	m.set(v, found)
	return m, steps
}
