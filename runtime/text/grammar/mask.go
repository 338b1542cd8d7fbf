package grammar

import "slices"

// stateMask is the tokens that may follow a state, for any caller of its rule.
type stateMask struct {
	// bits has the tokens that the rule allows, up to those that end exactly where the rule ends. If they are
	// few, ids lists them instead.
	bits []uint32
	ids  []int32
	// exits are the trie nodes at which the rule may end. What may come after them depends on the caller.
	exits []int32
}

// fewIDs is the most tokens of a stateMask that is a list.
const fewIDs = 512

// maxStateMasks is how many masks a grammar caches, and maxShared how many a vocabulary caches for all
// grammars.
const (
	maxStateMasks = 1 << 9
	maxShared     = 1 << 11
)

// stateMask is the mask of a state, from a walk through the trie. For a rule without calls, the mask of short
// tokens is shared by all grammars.
func (c *Compiled) stateMask(id int32) *stateMask {
	if m := c.masks[id]; m != nil {
		return m
	}
	var m *stateMask
	if own := c.ownRule(id); own != nil {
		m = c.ownMask(own, id)
	} else {
		m = c.findMask(id)
	}
	c.keep(id, m)
	return m
}

func (c *Compiled) keep(id int32, m *stateMask) {
	if len(c.masks) >= maxStateMasks {
		clear(c.masks)
	}
	c.masks[id] = m
}

// findMask walks through the trie from a state followed by an unknown continuation.
func (c *Compiled) findMask(id int32) *stateMask {
	v, g := c.vocabulary, c.graph
	m := &stateMask{}
	at := g.close(g.node([]entry{{id, g.hole}}))
	var found []int32
	c.walk(0, int32(len(v.trie)), at, func(i int32, n *node) {
		if v.trie[i].token >= 0 {
			found = append(found, v.trie[i].token)
		}
		if n.hole && v.trie[i].skip > i+1 {
			m.exits = append(m.exits, i)
		}
	})
	m.set(v, found)
	return m
}

// set stores the allowed tokens.
func (m *stateMask) set(v *Vocabulary, found []int32) {
	if len(found) <= fewIDs {
		m.ids = slices.Clone(found)
		return
	}
	m.bits = make([]uint32, v.Words())
	for _, token := range found {
		v.allow(m.bits, token)
	}
}

// with is the union of a mask of short tokens, which is not changed, and one of long ones.
func (m *stateMask) with(v *Vocabulary, long *stateMask) *stateMask {
	if len(long.ids) == 0 && long.bits == nil && len(long.exits) == 0 {
		return m
	}
	both := &stateMask{exits: slices.Concat(m.exits, long.exits)}
	if m.bits == nil && long.bits == nil {
		both.ids = slices.Concat(m.ids, long.ids)
		return both
	}
	both.bits = make([]uint32, v.Words())
	m.allow(v, both.bits)
	long.allow(v, both.bits)
	return both
}

// allow adds the tokens to a mask.
func (m *stateMask) allow(v *Vocabulary, mask []uint32) {
	for _, id := range m.ids {
		v.allow(mask, id)
	}
	for i, w := range m.bits {
		mask[i] |= w
	}
}

// walkSteps is the number of trie nodes after which a walk counts its work.
const walkSteps = 1 << 12

// walk calls f in order with the nodes of a part of the trie that may follow at.
func (c *Compiled) walk(first, end int32, at *node, f func(i int32, n *node)) {
	trie, g := c.vocabulary.trie, c.graph
	if first == end || at.stuck {
		return
	}
	base := trie[first].depth
	path := append(c.path[:0], at)
	steps := 0
	for i := first; i < end; {
		t := &trie[i]
		steps++
		if steps == walkSteps { // counted in portions, as a step into a known node is cheap
			g.spend(steps / 2)
			steps = 0
		}
		if int(t.depth) >= c.deepest {
			i = t.skip
			continue
		}
		n := g.step(path[t.depth-base], t.b)
		if n == g.dead {
			i = t.skip
			continue
		}
		f(i, n)
		if n.stuck {
			i = t.skip
			continue
		}
		path = append(path[:t.depth-base+1], n)
		i++
	}
	c.path = path
	g.spend(steps / 2)
}

// manyStates is the number of states without a mask from which a single walk for all of them is faster.
const manyStates = 16

// maskOf is the mask of a closed node.
func (c *Compiled) maskOf(at *node) []uint32 {
	v, g := c.vocabulary, c.graph
	mask := make([]uint32, v.Words())
	c.ends(mask, at)
	allow := func(i int32, _ *node) {
		if id := v.trie[i].token; id >= 0 {
			v.allow(mask, id)
		}
	}
	if unknown := c.unknown(at); unknown > manyStates {
		c.walk(0, int32(len(v.trie)), at, allow)
		return mask
	}
	for _, e := range at.entries {
		if e.state < firstState {
			continue
		}
		m := c.stateMask(e.state)
		m.allow(v, mask)
		if len(m.exits) == 0 {
			continue
		}
		after := g.close(e.below)
		for _, i := range m.exits {
			c.walk(i+1, v.trie[i].skip, after, allow)
		}
	}
	return mask
}

// unknown is the number of a node's states without a mask.
func (c *Compiled) unknown(at *node) (n int) {
	for _, e := range at.entries {
		if e.state >= firstState && c.masks[e.state] == nil && c.ownRule(e.state) == nil {
			n++
		}
	}
	return n
}

// find computes the mask of a closed node. If the grammar is so ambiguous that this takes too long, the mask
// has only short tokens: all of them are valid, but further valid tokens are missing.
func (c *Compiled) find(at *node) (mask []uint32, err error) {
	if err = c.graph.limited(func() { mask = c.maskOf(at) }); err != nil {
		c.shallows++
		if mask, err = c.shallow(at); err != nil {
			return nil, err
		}
	}
	if at.end || slices.ContainsFunc(mask, func(word uint32) bool { return word != 0 }) {
		return mask, nil
	}
	return nil, at.nothing("no token of the model can follow")
}

// nothing is the reason for which no token follows a node.
func (n *node) nothing(why string) error {
	if n.depth >= maxDepth {
		return fail("%s: rules are nested more than %d deep", why, maxDepth)
	}
	return fail("%s what the grammar allows here", why)
}

// shallow is a mask of the tokens up to a length for which the time suffices.
func (c *Compiled) shallow(at *node) (mask []uint32, err error) {
	defer func() { c.deepest = maxToken }()
	for c.deepest = 1; c.deepest <= 4; c.deepest *= 4 {
		next := make([]uint32, c.vocabulary.Words())
		failed := c.graph.limited(func() {
			c.ends(next, at)
			c.walk(0, int32(len(c.vocabulary.trie)), at, func(i int32, _ *node) {
				if id := c.vocabulary.trie[i].token; id >= 0 {
					c.vocabulary.allow(next, id)
				}
			})
		})
		if failed != nil {
			if mask == nil {
				return nil, failed
			}
			break
		}
		mask = next
	}
	return mask, nil
}

// ends allows the tokens that end a text if the text may end.
func (c *Compiled) ends(mask []uint32, at *node) {
	if at.end {
		for _, id := range c.vocabulary.ends {
			c.vocabulary.allow(mask, id)
		}
	}
}
