package pattern

import (
	"encoding/binary"
	"slices"
)

// formula is what the rest of a text has to satisfy, as an index of formulas.
type formula = int32

// Formulas that always exist.
const (
	never formula = iota
	all
)

// formulas stores each formula once.
type formulas struct {
	*Work
	known map[string]formula
	list  []made
	atoms map[*node]formula
	key   []byte
}

// made is how a formula was made: from a node, or from other formulas.
type made struct {
	kind kind // isNever, isAll, isOr, isAnd, isNot; isChar: from node
	node *node
	of   []formula
}

func newFormulas(w *Work) *formulas {
	return &formulas{Work: w, known: map[string]formula{}, list: []made{{kind: isNever}, {kind: isAll}}, atoms: map[*node]formula{}}
}

// atom is the formula of a node.
func (f *formulas) atom(n *node) formula {
	switch n.kind {
	case isNever:
		return never
	case isAll:
		return all
	}
	id, ok := f.atoms[n]
	if !ok {
		id = formula(len(f.list))
		f.list = append(f.list, made{kind: isChar, node: n})
		f.atoms[n] = id
	}
	return id
}

// join is the conjunction or disjunction of a list.
func (f *formulas) join(k kind, list []formula) formula {
	none, zero := never, all // for isOr
	if k == isAnd {
		none, zero = all, never
	}
	var out []formula
	for _, id := range list {
		switch {
		case id == zero:
			return zero
		case id == none:
		case f.list[id].kind == k:
			out = append(out, f.list[id].of...)
		default:
			out = append(out, id)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	f.spend(1 + len(out))
	for _, id := range out { // a formula and its negation cancel
		if f.list[id].kind == isNot {
			if _, both := slices.BinarySearch(out, f.list[id].of[0]); both {
				return zero
			}
		}
	}
	switch len(out) {
	case 0:
		return none
	case 1:
		return out[0]
	}
	return f.make(k, out)
}

func (f *formulas) not(id formula) formula {
	switch {
	case id == never:
		return all
	case id == all:
		return never
	case f.list[id].kind == isNot:
		return f.list[id].of[0]
	}
	return f.make(isNot, []formula{id})
}

func (f *formulas) make(k kind, of []formula) formula {
	f.key = append(f.key[:0], byte(k))
	for _, id := range of {
		f.key = binary.LittleEndian.AppendUint32(f.key, uint32(id))
	}
	id, ok := f.known[string(f.key)]
	if !ok {
		f.spend(8 + len(of))
		id = formula(len(f.list))
		f.list = append(f.list, made{kind: k, of: of})
		f.known[string(f.key)] = id
	}
	return id
}

// place is what is on both sides of a position in a text.
type place struct {
	begin, end           bool
	wordBefore, wordNext bool
}

func (p *place) is(a assertion) bool {
	switch a {
	case atBegin:
		return p.begin
	case atEnd:
		return p.end
	case atWord:
		return p.wordBefore != p.wordNext
	}
	return p.wordBefore == p.wordNext
}

// step computes what has to follow a character; at the end of the text the result is all or never.
type step struct {
	*formulas
	place
	char    rune // in the classes of char's members
	open    map[*node]bool
	results map[formula]formula
}

func (s *step) formula(id formula) formula {
	m := &s.list[id]
	switch m.kind {
	case isNever, isAll:
		return id
	case isChar:
		return s.node(m.node)
	}
	if done, ok := s.results[id]; ok {
		return done
	}
	of := make([]formula, 0, len(m.of))
	for _, one := range m.of {
		of = append(of, s.formula(one))
	}
	out := never
	if m = &s.list[id]; m.kind == isNot {
		out = s.not(of[0])
	} else {
		out = s.join(m.kind, of)
	}
	s.results[id] = out
	return out
}

// node is what has to follow after a node. A node that leads back to itself without a character contributes
// nothing.
func (s *step) node(n *node) formula {
	s.spend(1)
	switch n.kind {
	case isNever:
		return never
	case isAll:
		return all
	case isEnd:
		if s.end {
			return all
		}
		return never
	case isChar:
		if s.end || !contains(n.class, s.char) {
			return never
		}
		return s.atom(n.next)
	case isAsserts:
		if !s.is(n.assert) {
			return never
		}
		return s.node(n.next)
	case isNot:
		return s.not(s.node(n.next))
	}
	if s.open[n] {
		return never
	}
	s.open[n] = true
	of := make([]formula, 0, len(n.list))
	for _, one := range n.list {
		of = append(of, s.node(one))
	}
	delete(s.open, n)
	return s.join(n.kind, of)
}
