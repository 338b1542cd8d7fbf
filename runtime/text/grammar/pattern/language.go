package pattern

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"mla/runtime/text/grammar"
)

// Language is an immutable set of texts.
type Language = *node

type kind uint8

const (
	isNever   kind = iota // no text
	isAll                 // all texts
	isEnd                 // the empty text
	isChar                // a character of class, followed by next
	isOr                  // one of list
	isAnd                 // all of list
	isNot                 // not next
	isAsserts             // next, if assert holds here
)

type node struct {
	kind   kind
	assert assertion
	class  grammar.Class
	next   *node
	list   []*node
}

// assertion is a condition on the position between two characters.
type assertion uint8

const (
	atBegin assertion = iota
	atEnd
	atWord    // between a word character and another one
	notAtWord // the opposite
)

// Predefined languages.
var (
	Never Language = &node{kind: isNever}
	All   Language = &node{kind: isAll}
	Empty Language = &node{kind: isEnd}
)

// Anything is the class of all characters.
var Anything = grammar.Class{{Lo: 0, Hi: utf8.MaxRune}}

// And is the intersection of languages.
func And(list ...Language) Language {
	var out []*node
	for _, n := range list {
		switch n.kind {
		case isNever:
			return Never
		case isAll:
		case isAnd:
			out = append(out, n.list...)
		default:
			out = append(out, n)
		}
	}
	switch len(out) {
	case 0:
		return All
	case 1:
		return out[0]
	}
	return &node{kind: isAnd, list: out}
}

// Or is the union of languages.
func Or(list ...Language) Language {
	var out []*node
	for _, n := range list {
		switch n.kind {
		case isAll:
			return All
		case isNever:
		case isOr:
			out = append(out, n.list...)
		default:
			out = append(out, n)
		}
	}
	switch len(out) {
	case 0:
		return Never
	case 1:
		return out[0]
	}
	return &node{kind: isOr, list: out}
}

// Not is the complement of a language.
func Not(n Language) Language {
	switch n.kind {
	case isNever:
		return All
	case isAll:
		return Never
	case isNot:
		return n.next
	}
	return &node{kind: isNot, next: n}
}

// Text is the language of a single text.
func Text(text string) Language {
	runes := []rune(text)
	n := Empty
	for i := len(runes) - 1; i >= 0; i-- {
		n = &node{kind: isChar, class: grammar.Class{{Lo: runes[i], Hi: runes[i]}}, next: n}
	}
	return n
}

// Length is the texts of least to most characters; most < 0: no upper bound.
func (w *Work) Length(least, most int) (n Language, err error) {
	r := &tree{op: opRepeat, min: least, max: most, sub: []*tree{{op: opClass, class: Anything}}}
	err = w.part(func() { n = w.compile(r, Empty) })
	return n, err
}

// Work is a limit on work, shared by everything made with it.
type Work struct {
	ctx  context.Context
	left int
}

// NewWork returns a limit of a number of steps, which also ends with the context.
func NewWork(ctx context.Context, steps int) *Work { return &Work{ctx, steps} }

// ErrTooLarge says that a limit is exhausted.
var ErrTooLarge = errors.New("too large: its repetitions and alternatives take too many steps")

// stopped is the reason for which work ended.
type stopped struct{ err error }

// Spend counts steps, and fails with ErrTooLarge or the context's cause.
func (w *Work) Spend(n int) (err error) {
	defer catch(&err)
	w.spend(n)
	return nil
}

// Spent says that the limit is exhausted.
func (w *Work) Spent() bool { return w.left < 0 }

// part runs f with a part of the remaining limit, so that a failure leaves some.
func (w *Work) part(f func()) (err error) {
	all := w.left
	w.left = all / 4
	defer func() { w.left += all - all/4 }()
	defer catch(&err)
	f()
	return nil
}

const lookAfter = 1 << 13

func (w *Work) spend(n int) {
	before := w.left
	if w.left -= n; w.left < 0 {
		panic(stopped{ErrTooLarge})
	}
	if before/lookAfter != w.left/lookAfter && w.ctx.Err() != nil {
		panic(stopped{context.Cause(w.ctx)})
	}
}

func catch(err *error) {
	if e := recover(); e != nil {
		s, ok := e.(stopped)
		if !ok {
			panic(e)
		}
		*err = s.err
	}
}

func fail(format string, args ...any) { panic(stopped{fmt.Errorf(format, args...)}) }
