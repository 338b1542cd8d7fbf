package pattern

import "mla/runtime/text/grammar"

// tree is a parsed regular expression.
type tree struct {
	op       op
	class    grammar.Class
	sub      []*tree
	min, max int // for opRepeat; max < 0: no upper bound
	assert   assertion
}

type op uint8

const (
	opClass op = iota
	opSeq
	opAlt
	opRepeat
	opAssert
	opAhead    // lookahead: the rest begins with sub[0]
	opNotAhead // negative lookahead
)

// Parse is the language of texts in which a regular expression matches anywhere.
func (w *Work) Parse(text string) (n Language, err error) {
	err = w.part(func() { n = w.anywhere(w.parse(text)) })
	return n, err
}

// anywhere is the language of texts in which an expression matches anywhere.
func (w *Work) anywhere(t *tree) Language {
	anything := &node{kind: isOr}
	found := w.compile(t, All)
	anything.list = []*node{found, {kind: isChar, class: Anything, next: anything}}
	if anchored(t) {
		return found
	}
	return anything
}

// anchored says whether a match has to begin at the beginning of the text.
func anchored(t *tree) bool {
	switch t.op {
	case opAssert:
		return t.assert == atBegin
	case opSeq:
		return len(t.sub) > 0 && anchored(t.sub[0])
	case opAlt:
		for _, s := range t.sub {
			if !anchored(s) {
				return false
			}
		}
		return len(t.sub) > 0
	}
	return false
}

// compile is the language of an expression followed by next.
func (w *Work) compile(t *tree, next *node) *node {
	w.spend(4)
	switch t.op {
	case opClass:
		if len(t.class) == 0 {
			return Never
		}
		return &node{kind: isChar, class: t.class, next: next}
	case opSeq:
		for i := len(t.sub) - 1; i >= 0; i-- {
			next = w.compile(t.sub[i], next)
		}
		return next
	case opAlt:
		var list []*node
		for _, s := range t.sub {
			list = append(list, w.compile(s, next))
		}
		return Or(list...)
	case opRepeat:
		return w.repeat(t, next)
	case opAssert:
		return &node{kind: isAsserts, assert: t.assert, next: next}
	case opAhead:
		return And(w.compile(t.sub[0], All), next)
	}
	return And(Not(w.compile(t.sub[0], All)), next)
}

func (w *Work) repeat(t *tree, next *node) *node {
	of := t.sub[0]
	if t.max < 0 {
		loop := &node{kind: isOr}
		loop.list = []*node{w.compile(of, loop), next}
		next = loop
	} else {
		end := next
		for i := t.min; i < t.max; i++ {
			w.spend(1)
			next = &node{kind: isOr, list: []*node{w.compile(of, next), end}}
		}
	}
	for range t.min {
		next = w.compile(of, next)
	}
	return next
}
