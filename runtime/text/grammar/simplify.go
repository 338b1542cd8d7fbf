package grammar

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// size is what repetitions need to know of an expression's length.
type size uint8

const (
	sizeNever size = iota // matches nothing
	sizeEmpty             // only the empty text
	sizeMaybe             // the empty text and others, or a rule
	sizeSome              // at least a byte
)

// simplify returns an equivalent expression that is no larger: a repetition of the empty text becomes the
// empty text, and a class has each range once.
func (w *work) simplify(e Expr) (Expr, size) {
	w.spend(1)
	switch e := e.(type) {
	case Literal:
		if e == "" {
			return Seq{}, sizeEmpty
		}
	case Class:
		w.spend(4 * len(e))
		if e = e.merged(); len(e) == 0 {
			return e, sizeNever
		}
		return e, sizeSome
	case Seq:
		return w.sequence(e)
	case Alt:
		return w.alternatives(e)
	case Repeat:
		return w.repetition(e)
	case Graph:
		return w.graph(e), sizeMaybe
	case Ref:
		return e, sizeMaybe
	}
	return e, sizeSome
}

func (w *work) sequence(e Seq) (Expr, size) {
	all := sizeEmpty
	out := make(Seq, 0, len(e))
	for _, part := range e {
		part, size := w.simplify(part)
		switch size {
		case sizeNever:
			return Alt{}, sizeNever
		case sizeEmpty:
			continue
		}
		out, all = append(out, part), max(all, size)
	}
	return out, all
}

func (w *work) alternatives(e Alt) (Expr, size) {
	var out Alt
	empty, all := false, sizeNever
	for _, part := range e {
		part, size := w.simplify(part)
		if size == sizeNever || size == sizeEmpty && empty {
			continue
		}
		empty = empty || size == sizeEmpty
		if out = append(out, part); all == sizeNever || all == size {
			all = size
		} else {
			all = sizeMaybe
		}
	}
	return out, all
}

func (w *work) repetition(e Repeat) (Expr, size) {
	of, size := w.simplify(e.Of)
	switch {
	case e.Max == 0 || size == sizeEmpty || size == sizeNever && e.Min == 0:
		return Seq{}, sizeEmpty
	case size == sizeNever:
		return Alt{}, sizeNever
	}
	e.Of = of
	if e.Min == 0 {
		size = sizeMaybe
	}
	return e, size
}

func (w *work) graph(e Graph) Graph {
	out := make(Graph, len(e))
	for i, state := range e {
		out[i].Accept = state.Accept
		for _, edge := range state.Edges {
			by, size := w.simplify(edge.By)
			if size != sizeNever {
				out[i].Edges = append(out[i].Edges, GraphEdge{by, edge.To})
			}
		}
	}
	return out
}

// merged is the class with sorted, disjoint ranges.
func (c Class) merged() Class {
	list := slices.Clone(c)
	slices.SortFunc(list, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	var out Class
	for _, r := range list {
		n := len(out)
		switch {
		case r.Lo > r.Hi:
		case n > 0 && r.Lo <= out[n-1].Hi+1:
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		default:
			out = append(out, r)
		}
	}
	return out
}

// Not is the complement of a class.
func (c Class) Not() Class {
	var out Class
	next := rune(0)
	for _, r := range c.merged() {
		if r.Lo > next {
			out = append(out, Range{next, r.Lo - 1})
		}
		next = max(next, r.Hi+1)
	}
	if next <= utf8.MaxRune {
		out = append(out, Range{next, utf8.MaxRune})
	}
	return out
}
