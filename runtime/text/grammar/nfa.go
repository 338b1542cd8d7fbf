package grammar

import "slices"

// Limits on a grammar, in addition to that on work.
const (
	maxRules  = 1 << 14
	maxNFA    = 1 << 17 // nodes of the automaton of a rule
	maxStates = 1 << 16 // states of the deterministic automata of all rules
)

// nfaNode is a node of a rule's automaton. Bytes or a rule lead to next, or empty edges lead to eps.
type nfaNode struct {
	kind   nfaKind
	lo, hi byte
	rule   int32
	next   int32
	eps    []int32
}

type nfaKind uint8

const (
	nfaEps nfaKind = iota
	nfaBytes
	nfaCall
	nfaMatch
)

// nfa constructs automata of expressions, from their ends to their beginnings.
type nfa struct {
	*work
	vocabulary *Vocabulary
	nodes      []nfaNode
	rules      int
}

func (n *nfa) add(node nfaNode) int32 {
	if n.spend(4 + len(node.eps)); len(n.nodes) >= maxNFA {
		n.tooLarge("its repetitions and alternatives take more than %d places", maxNFA)
	}
	n.nodes = append(n.nodes, node)
	return int32(len(n.nodes) - 1)
}

// compile returns the first node of an expression that is followed by next.
func (n *nfa) compile(e Expr, next int32) int32 {
	n.spend(1)
	switch e := e.(type) {
	case Literal:
		for i := len(e) - 1; i >= 0; i-- {
			next = n.add(nfaNode{kind: nfaBytes, lo: e[i], hi: e[i], next: next})
		}
		return next
	case Class:
		return n.class(e, next)
	case Seq:
		for i := len(e) - 1; i >= 0; i-- {
			next = n.compile(e[i], next)
		}
		return next
	case Alt:
		starts := make([]int32, 0, len(e))
		for _, a := range e {
			starts = append(starts, n.compile(a, next))
		}
		return n.add(nfaNode{eps: starts})
	case Repeat:
		return n.repeat(e, next)
	case Ref:
		if e < 0 || int(e) >= n.rules {
			panic(stopped{fail("there is no rule %d", e)})
		}
		return n.add(nfaNode{kind: nfaCall, rule: int32(e), next: next})
	case Graph:
		return n.graph(e, next)
	case OneToken:
		return n.token(e, next)
	}
	panic(stopped{fail("an expression of type %T", e)})
}

// class shares the common suffixes of characters.
func (n *nfa) class(c Class, next int32) int32 {
	type tail struct {
		span
		next int32
	}
	known := map[tail]int32{}
	var starts []int32
	for _, r := range c {
		utf8Spans(r.Lo, r.Hi, func(spans []span) {
			at := next
			for i := len(spans) - 1; i >= 0; i-- {
				t := tail{spans[i], at}
				node, ok := known[t]
				if n.spend(16); !ok {
					node = n.add(nfaNode{kind: nfaBytes, lo: t.lo, hi: t.hi, next: at})
					known[t] = node
				}
				at = node
			}
			starts = append(starts, at)
		})
	}
	slices.Sort(starts)
	if starts = slices.Compact(starts); len(starts) == 1 {
		return starts[0]
	}
	return n.add(nfaNode{eps: starts})
}

func (n *nfa) repeat(r Repeat, next int32) int32 {
	switch {
	case r.Max < 0:
		loop := n.add(nfaNode{})
		body := n.compile(r.Of, loop)
		n.nodes[loop].eps = []int32{body, next}
		next = loop
	default:
		end := next
		for i := r.Min; i < r.Max; i++ {
			next = n.add(nfaNode{eps: []int32{n.compile(r.Of, next), end}})
		}
	}
	for range r.Min {
		next = n.compile(r.Of, next)
	}
	return next
}

// graph makes a node for each state.
func (n *nfa) graph(g Graph, next int32) int32 {
	first := int32(len(n.nodes))
	for range g {
		n.add(nfaNode{})
	}
	for i, state := range g {
		var eps []int32
		if state.Accept {
			eps = append(eps, next)
		}
		for _, e := range state.Edges {
			eps = append(eps, n.compile(e.By, first+int32(e.To)))
		}
		n.spend(len(eps))
		n.nodes[first+int32(i)].eps = eps
	}
	return first
}

// token makes nodes for a control token's name, or for a token's id. Without a vocabulary, every token
// exists.
func (n *nfa) token(t OneToken, next int32) int32 {
	id, v := t.ID, n.vocabulary
	if v != nil && t.Name != "" {
		var ok bool
		if id, ok = v.names[t.Name]; !ok {
			panic(stopped{fail("the control token %s is not in the model's vocabulary", t.Name)})
		}
		if text := v.bytes[id]; !t.Not && len(text) > 0 { // tokens that end texts have no text
			return n.compile(Literal(text), next)
		}
	}
	if v != nil && int(id) >= v.size {
		panic(stopped{fail("there is no token %d in the model's vocabulary, which has %d", id, v.size)})
	}
	path := idPath(id)
	if !t.Not {
		return n.compile(Literal(path), next)
	}
	var starts []int32 // by byte: any other byte, and then any bytes
	at := int32(-1)
	for i := len(path) - 1; i > 0; i-- {
		after := next
		for range len(path) - 1 - i {
			after = n.add(nfaNode{kind: nfaBytes, lo: 0, hi: 255, next: after})
		}
		starts = starts[:0]
		if b := path[i]; b > 0 {
			starts = append(starts, n.add(nfaNode{kind: nfaBytes, lo: 0, hi: b - 1, next: after}))
		}
		if b := path[i]; b < 255 {
			starts = append(starts, n.add(nfaNode{kind: nfaBytes, lo: b + 1, hi: 255, next: after}))
		}
		if at >= 0 {
			starts = append(starts, n.add(nfaNode{kind: nfaBytes, lo: path[i], hi: path[i], next: at}))
		}
		at = n.add(nfaNode{eps: slices.Clone(starts)})
	}
	return n.add(nfaNode{kind: nfaBytes, lo: idByte, hi: idByte, next: at})
}

// idPath is the bytes that encode a token's id.
func idPath(id int32) []byte { return []byte{idByte, byte(id >> 16), byte(id >> 8), byte(id)} }
