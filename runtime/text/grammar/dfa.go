package grammar

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// state is a state of a rule's automaton.
type state struct {
	edges  []edge // sorted and disjoint
	calls  []call
	accept bool // the rule may end here
}

// edge is a range of bytes that leads to a state.
type edge struct {
	span
	to int32
}

// call is a rule that may begin here, and the state after it.
type call struct{ rule, to int32 }

// final says that the rule has to end in this state.
func (s *state) final() bool { return s.accept && len(s.edges)+len(s.calls) == 0 }

// States that belong to no rule.
const (
	stateEnd   int32 = iota // the text may end
	stateHole               // the unknown continuation after a rule
	firstState              // first state of a rule
)

// automata is the automata of all rules.
type automata struct {
	states []state
	start  []int32 // by rule
	ids    bool    // the grammar names tokens by their ids
}

// determine makes the automata of a grammar. The vocabulary resolves the names of tokens.
func determine(ctx context.Context, g *Grammar, v *Vocabulary) (a *automata, err error) {
	switch {
	case len(g.Rules) == 0:
		return nil, fail("a grammar without rules")
	case len(g.Rules) > maxRules:
		return nil, &Error{fmt.Sprintf("the grammar has %d rules; at most %d are possible", len(g.Rules), maxRules), true}
	}
	defer catch(&err)
	w := newWork(ctx)
	a = &automata{states: make([]state, firstState)}
	n := &nfa{work: w, vocabulary: v, rules: len(g.Rules)}
	for _, r := range g.Rules {
		w.rule = r.Name
		n.nodes = n.nodes[:0]
		e, _ := w.simplify(r.Expr)
		start := n.compile(e, n.add(nfaNode{kind: nfaMatch}))
		a.rule(w, n.nodes, start)
	}
	w.rule = g.Rules[0].Name
	a.trim(w)
	if a.states[a.start[0]].empty() {
		return nil, fail("the rule %s has no end: no text follows it", g.Rules[0].Name)
	}
	if cycle := a.leftRecursion(w); cycle >= 0 {
		return nil, fail("the rule %s begins with itself (left recursion), which is not supported", g.Rules[cycle].Name)
	}
	return a, nil
}

// empty says that nothing can follow a state, not even the end.
func (s *state) empty() bool { return !s.accept && len(s.edges)+len(s.calls) == 0 }

// subset constructs the automaton of one rule (subset construction): a state for every reachable set of
// nodes.
type subset struct {
	*automata
	*work
	nodes []nfaNode
	known map[string]int32
	sets  [][]int32 // of the states whose edges are missing
	first int32
	seen  []bool
	key   []byte
}

// rule adds the automaton of a rule.
func (a *automata) rule(w *work, nodes []nfaNode, start int32) {
	s := &subset{automata: a, work: w, nodes: nodes, known: map[string]int32{}, first: int32(len(a.states)), seen: make([]bool, len(nodes))}
	a.start = append(a.start, s.of([]int32{start}))
	for i := 0; i < len(s.sets); i++ {
		s.follow(s.first+int32(i), s.sets[i])
		s.sets[i] = nil
	}
}

// of is the state of a set of nodes, closed under empty edges.
func (s *subset) of(from []int32) int32 {
	var set []int32
	for stack := slices.Clone(from); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[at] {
			continue
		}
		s.seen[at] = true
		set = append(set, at)
		stack = append(stack, s.nodes[at].eps...)
		s.spend(1 + len(s.nodes[at].eps))
	}
	for _, at := range set {
		s.seen[at] = false
	}
	set = slices.DeleteFunc(set, func(at int32) bool { return s.nodes[at].kind == nfaEps })
	slices.Sort(set)
	s.key = s.key[:0]
	for _, at := range set {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(at))
	}
	id, ok := s.known[string(s.key)]
	if !ok {
		if s.spend(8 + len(set)); len(s.states) >= maxStates {
			s.tooLarge("all rules together take more than %d states", maxStates)
		}
		id = int32(len(s.states))
		s.known[string(s.key)] = id
		s.states = append(s.states, state{})
		s.sets = append(s.sets, set)
	}
	return id
}

// follow computes a state's edges and calls.
func (s *subset) follow(id int32, set []int32) {
	var bounds [257]bool // bytes at which the set of next nodes changes
	calls := map[int32][]int32{}
	var rules []int32
	var out state
	for _, at := range set {
		switch n := &s.nodes[at]; n.kind {
		case nfaMatch:
			out.accept = true
		case nfaBytes:
			bounds[n.lo], bounds[int(n.hi)+1] = true, true
		case nfaCall:
			if calls[n.rule] == nil {
				rules = append(rules, n.rule)
			}
			calls[n.rule] = append(calls[n.rule], n.next)
		}
	}
	for _, rule := range rules {
		out.calls = append(out.calls, call{rule, s.of(calls[rule])})
	}
	for lo := 0; lo < 256; {
		hi := lo + 1
		for hi < 256 && !bounds[hi] {
			hi++
		}
		var next []int32
		for _, at := range set {
			if n := &s.nodes[at]; n.kind == nfaBytes && int(n.lo) <= lo && int(n.hi) >= hi-1 {
				next = append(next, n.next)
			}
		}
		s.spend(1 + len(set)/4)
		if len(next) > 0 {
			out.edge(span{byte(lo), byte(hi - 1)}, s.of(next))
		}
		lo = hi
	}
	s.automata.ids = s.automata.ids || slices.ContainsFunc(out.edges, func(e edge) bool { return e.lo == idByte })
	s.states[id] = out
}

// edge adds an edge, or extends the last one if it leads to the same state.
func (s *state) edge(by span, to int32) {
	if n := len(s.edges); n > 0 && s.edges[n-1].to == to && int(s.edges[n-1].hi)+1 == int(by.lo) {
		s.edges[n-1].hi = by.hi
		return
	}
	s.edges = append(s.edges, edge{by, to})
}

// next is the state after a byte; negative: none.
func (s *state) next(b byte) int32 {
	for i := range s.edges {
		if e := &s.edges[i]; b <= e.hi {
			if b >= e.lo {
				return e.to
			}
			return -1
		}
	}
	return -1
}

// trim removes dead ends: from every remaining state, an end can be reached.
func (a *automata) trim(w *work) {
	n := len(a.states)
	alive := make([]bool, n) // states from which their rule can end
	users := make([][]int32, n)
	waits := make([][]call, len(a.start)) // by rule: the states that call it, and where the call leads
	var queue []int32
	mark := func(id int32) {
		if !alive[id] {
			alive[id] = true
			queue = append(queue, id)
		}
	}
	ruleOf := map[int32][]int32{} // by start state: its rules
	for r, s := range a.start {
		ruleOf[s] = append(ruleOf[s], int32(r))
	}
	for id := firstState; int(id) < n; id++ {
		s := &a.states[id]
		w.spend(1 + len(s.edges)/2 + len(s.calls))
		for _, e := range s.edges {
			users[e.to] = append(users[e.to], id)
		}
		for _, c := range s.calls {
			waits[c.rule] = append(waits[c.rule], call{id, c.to})
		}
		if s.accept {
			mark(id)
		}
	}
	pending := make([][]int32, n) // by state: the states that are alive if it is
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, u := range slices.Concat(users[id], pending[id]) {
			mark(u)
		}
		for _, r := range ruleOf[id] { // the rule can end
			for _, w := range waits[r] {
				if alive[w.to] {
					mark(w.rule) // the calling state
				} else {
					pending[w.to] = append(pending[w.to], w.rule)
				}
			}
		}
	}
	for i := range a.states {
		s := &a.states[i]
		s.edges = slices.DeleteFunc(s.edges, func(e edge) bool { return !alive[e.to] })
		s.calls = slices.DeleteFunc(s.calls, func(c call) bool { return !alive[c.to] || !alive[a.start[c.rule]] })
	}
}

// nullable says which states can reach the end of their rule without a byte.
func (a *automata) nullable() []bool {
	null := make([]bool, len(a.states))
	look := map[int32][]int32{} // by state: the states to examine again once it is nullable
	var queue []int32
	for i := range a.states {
		if a.states[i].accept {
			queue = append(queue, int32(i))
		}
		for _, c := range a.states[i].calls {
			look[c.to] = append(look[c.to], int32(i))
			look[a.start[c.rule]] = append(look[a.start[c.rule]], int32(i))
		}
	}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		s := &a.states[id]
		if null[id] || !s.accept && !slices.ContainsFunc(s.calls, func(c call) bool { return null[a.start[c.rule]] && null[c.to] }) {
			continue
		}
		null[id] = true
		queue = append(queue, look[id]...)
	}
	return null
}

// leftRecursion is a rule that can call itself before any byte; -1: none.
func (a *automata) leftRecursion(w *work) int {
	null := a.nullable()
	corners := make([][]int32, len(a.start)) // by rule: the rules that it may begin with
	for r, start := range a.start {
		seen := map[int32]bool{start: true}
		for stack := []int32{start}; len(stack) > 0; {
			s := &a.states[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			w.spend(1 + 2*len(s.calls))
			for _, c := range s.calls {
				corners[r] = append(corners[r], c.rule)
				if null[a.start[c.rule]] && !seen[c.to] {
					seen[c.to] = true
					stack = append(stack, c.to)
				}
			}
		}
	}
	const fresh, open, done = 0, 1, 2
	mark := make([]uint8, len(a.start))
	type frame struct{ rule, at int }
	for r := range a.start { // iterative depth-first search, as chains of rules may be long
		if mark[r] != fresh {
			continue
		}
		mark[r] = open
		for stack := []frame{{r, 0}}; len(stack) > 0; {
			f := &stack[len(stack)-1]
			if f.at == len(corners[f.rule]) {
				mark[f.rule] = done
				stack = stack[:len(stack)-1]
				continue
			}
			next := int(corners[f.rule][f.at])
			f.at++
			switch mark[next] {
			case open:
				return next
			case fresh:
				mark[next] = open
				stack = append(stack, frame{next, 0})
			}
		}
	}
	return -1
}
