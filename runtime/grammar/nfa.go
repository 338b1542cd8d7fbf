package grammar

// Limits on a grammar.
const (
	maxRules  = 1 << 14
	maxNFA    = 1 << 19 // nodes of the automata of all rules
	maxStates = 1 << 16 // of the deterministic ones
	maxSets   = 1 << 23 // nodes in all sets that are looked at to make them so
)

// nfaNode is a place in the automaton of a rule: bytes or a rule lead to next, or nothing
// leads to all of eps.
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

// nfa makes automata of expressions, from their ends to their beginnings.
type nfa struct {
	nodes []nfaNode
	rules int
	made  int    // nodes, of all rules
	err   *Error // nothing is added after one
}

func (n *nfa) add(node nfaNode) int32 {
	if n.made >= maxNFA {
		n.err = fail("the grammar is too large: repetitions and alternatives take more than %d steps", maxNFA)
		return 0
	}
	n.made++
	n.nodes = append(n.nodes, node)
	return int32(len(n.nodes) - 1)
}

// compile returns where an expression begins that next comes behind.
func (n *nfa) compile(e Expr, next int32) int32 {
	if n.err != nil {
		return 0
	}
	switch e := e.(type) {
	case Literal:
		for i := len(e) - 1; i >= 0 && n.err == nil; i-- {
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
		var starts []int32
		for _, a := range e {
			starts = append(starts, n.compile(a, next))
		}
		return n.add(nfaNode{eps: starts})
	case Repeat:
		return n.repeat(e, next)
	case Ref:
		if e < 0 || int(e) >= n.rules {
			n.err = fail("there is no rule %d", e)
			return 0
		}
		return n.add(nfaNode{kind: nfaCall, rule: int32(e), next: next})
	}
	n.err = fail("an expression of type %T", e)
	return 0
}

// class shares the ends of characters that end alike.
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
			for i := len(spans) - 1; i >= 0 && n.err == nil; i-- {
				t := tail{spans[i], at}
				node, ok := known[t]
				if !ok {
					node = n.add(nfaNode{kind: nfaBytes, lo: t.lo, hi: t.hi, next: at})
					known[t] = node
				}
				at = node
			}
			starts = append(starts, at)
		})
	}
	return n.add(nfaNode{eps: starts})
}

func (n *nfa) repeat(r Repeat, next int32) int32 {
	switch {
	case r.Max < 0:
		loop := n.add(nfaNode{})
		body := n.compile(r.Of, loop)
		if n.err == nil {
			n.nodes[loop].eps = []int32{body, next}
		}
		next = loop
	default:
		end := next
		for i := r.Min; i < r.Max && n.err == nil; i++ {
			next = n.add(nfaNode{eps: []int32{n.compile(r.Of, next), end}})
		}
	}
	for i := 0; i < r.Min && n.err == nil; i++ {
		next = n.compile(r.Of, next)
	}
	return next
}
