package grammar

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Limits on a grammar's nodes.
const (
	maxNodes = 1 << 14 // nodes kept, unions included; beyond, all but the current ones are dropped
	maxMasks = 1 << 7  // masks of nodes; as above
	maxDepth = 1 << 10 // nesting of rules; deeper ones do not begin
	maxWork  = 1 << 19 // states and trie nodes examined for one mask: some milliseconds
)

// errWork says that a grammar is too ambiguous.
var errWork error = &Error{"the grammar is too ambiguous, or its rules are nested too deep: to find the next tokens takes too long", true}

// node is a set of states, each with the node that continues after its rule.
type node struct {
	id      uint64
	entries []entry // sorted by state, without duplicates
	depth   int     // nesting of rules
	closed  *node   // closed under calls and ends of rules, without states that have no edges
	// For closed nodes:
	end, hole bool    // the states include stateEnd, stateHole
	stuck     bool    // no byte can follow
	next      []*node // by class of bytes; nil: unknown
	mask      []uint32
}

// entry is a state with the node that continues after its rule.
type entry struct {
	state int32
	below *node
}

// graph makes nodes. Equal nodes are shared until too many are kept.
type graph struct {
	*automata
	classes   [256]uint8
	class     int // number of classes of bytes
	known     map[string]*node
	unions    map[[2]uint64]*node
	made      uint64
	masked    []*node
	work      int
	key       []byte
	dead      *node // the node without states
	end, hole *node
}

func newGraph(a *automata) *graph {
	g := &graph{automata: a, known: map[string]*node{}, work: maxWork}
	g.classify()
	g.dead = g.node(nil)
	g.dead.closed, g.dead.stuck = g.dead, true
	g.end = g.node([]entry{{stateEnd, g.dead}})
	g.hole = g.node([]entry{{stateHole, g.dead}})
	g.forget()
	return g
}

// forget drops all nodes except the current ones, and all results of these.
func (g *graph) forget() {
	g.forgetMasks()
	kept := []*node{g.dead, g.end, g.hole}
	for _, n := range g.known {
		n.next = nil
		if n != g.dead {
			n.closed = nil
		}
	}
	g.known, g.unions = map[string]*node{}, map[[2]uint64]*node{}
	for _, n := range kept {
		g.known[string(g.keyOf(n.entries))] = n
	}
}

// forgetMasks drops the masks of nodes.
func (g *graph) forgetMasks() {
	for _, n := range g.masked {
		n.mask = nil
	}
	g.masked = nil
}

// classify computes classes of bytes that no state distinguishes.
func (g *graph) classify() {
	var bounds [257]bool
	for i := range g.states {
		for _, e := range g.states[i].edges {
			bounds[e.lo], bounds[int(e.hi)+1] = true, true
		}
	}
	for b := range 256 {
		if b > 0 && bounds[b] {
			g.class++
		}
		g.classes[b] = uint8(g.class)
	}
	g.class++
}

// spend counts work; beyond the limit it aborts the current computation.
func (g *graph) spend(n int) {
	if g.work -= n; g.work < 0 {
		panic(errWork)
	}
}

// limited runs f with a limit on its work.
func (g *graph) limited(f func()) (err error) {
	defer func() {
		if e := recover(); e == errWork {
			err = errWork
		} else if e != nil {
			panic(e)
		}
	}()
	if len(g.known)+len(g.unions) > maxNodes {
		g.forget()
	}
	if len(g.masked) >= maxMasks {
		g.forgetMasks()
	}
	g.work = maxWork
	f()
	return nil
}

// Work of a new node, and of each of its states, in steps of the trie.
const (
	nodeWork  = 1 << 10
	entryWork = 1 << 5
)

// keyOf is the key of a node, valid until the next call.
func (g *graph) keyOf(entries []entry) []byte {
	g.key = g.key[:0]
	for _, e := range entries {
		g.key = binary.LittleEndian.AppendUint32(g.key, uint32(e.state))
		g.key = binary.LittleEndian.AppendUint64(g.key, e.below.id)
	}
	return g.key
}

// node is the node with the entries, which must be sorted.
func (g *graph) node(entries []entry) *node {
	if n, ok := g.known[string(g.keyOf(entries))]; ok {
		return n
	}
	g.spend(nodeWork + entryWork*len(entries))
	g.made++
	n := &node{id: g.made, entries: slices.Clone(entries)}
	for _, e := range entries {
		n.depth = max(n.depth, e.below.depth+1)
	}
	g.known[string(g.keyOf(entries))] = n
	return n
}

// union is the node with the states of both.
func (g *graph) union(a, b *node) *node {
	switch {
	case a == b || b == g.dead:
		return a
	case a == g.dead:
		return b
	case a.id > b.id:
		a, b = b, a
	}
	pair := [2]uint64{a.id, b.id}
	if n, ok := g.unions[pair]; ok {
		return n
	}
	g.spend(nodeWork + entryWork*(len(a.entries)+len(b.entries)))
	var out []entry
	x, y := a.entries, b.entries
	for len(x) > 0 && len(y) > 0 {
		switch c := cmp.Compare(x[0].state, y[0].state); {
		case c < 0:
			out, x = append(out, x[0]), x[1:]
		case c > 0:
			out, y = append(out, y[0]), y[1:]
		default:
			out = append(out, entry{x[0].state, g.union(x[0].below, y[0].below)})
			x, y = x[1:], y[1:]
		}
	}
	n := g.node(append(append(out, x...), y...))
	g.unions[pair] = n
	return n
}

// close is the closed node of a node.
func (g *graph) close(n *node) *node {
	if n.closed == nil {
		n.closed = g.closure(n.entries)
		n.closed.closed = n.closed
	}
	return n.closed
}

// closure adds the states that calls and ends of rules lead to.
func (g *graph) closure(entries []entry) *node {
	found := map[int32]*node{}
	var queue []int32
	add := func(id int32, below *node) {
		before := found[id]
		if before == nil {
			before = g.dead
			if found[id] = before; below == g.dead { // stateEnd, stateHole
				queue = append(queue, id)
			}
		}
		if now := g.union(before, below); now != before {
			found[id] = now
			queue = append(queue, id)
		}
	}
	for _, e := range entries {
		add(e.state, e.below)
	}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		s, below := &g.states[id], found[id]
		g.spend(entryWork * (1 + len(s.calls)))
		for _, c := range s.calls {
			to := below
			if !g.states[c.to].final() {
				if below.depth >= maxDepth {
					continue
				}
				to = g.node([]entry{{c.to, below}})
			}
			add(g.start[c.rule], to)
		}
		if s.accept {
			for _, e := range below.entries {
				add(e.state, e.below)
			}
		}
	}
	var out []entry
	for id, below := range found {
		if id < firstState || len(g.states[id].edges) > 0 {
			out = append(out, entry{id, below})
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.state, b.state) })
	n := g.node(out)
	n.stuck = true
	for _, e := range out {
		n.end = n.end || e.state == stateEnd
		n.hole = n.hole || e.state == stateHole
		n.stuck = n.stuck && e.state < firstState
	}
	return n
}

// step is the closed node after a byte.
func (g *graph) step(n *node, b byte) *node {
	if n.stuck {
		return g.dead
	}
	if n.next == nil {
		n.next = make([]*node, g.class)
	}
	at := &n.next[g.classes[b]]
	if *at == nil {
		var out []entry
		g.spend(entryWork * len(n.entries))
		for _, e := range n.entries {
			if to := g.states[e.state].next(b); to >= 0 {
				out = append(out, entry{to, e.below})
			}
		}
		*at = g.closure(out)
		(*at).closed = *at
	}
	return *at
}

// follow is the closed node after bytes.
func (g *graph) follow(n *node, text []byte) *node {
	for _, b := range text {
		n = g.step(n, b)
	}
	return n
}

// merge is the closed union of two closed nodes.
func (g *graph) merge(a, b *node) *node {
	switch {
	case a == g.dead:
		return b
	case b == g.dead:
		return a
	}
	n := g.closure(g.union(a, b).entries)
	n.closed = n
	return n
}
