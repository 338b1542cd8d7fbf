package jinja

import (
	"slices"
	"strings"
)

// args are the arguments of a call.
type args struct {
	list  []Value
	names []string // of named
	named []Value
}

// named1 is the index of a named argument.
func (a args) named1(name string) (int, bool) {
	i := slices.Index(a.names, name)
	return i, i >= 0
}

// without returns the arguments without the named one at an index.
func (a args) without(at int) args {
	a.names = slices.Delete(slices.Clone(a.names), at, at+1)
	a.named = slices.Delete(slices.Clone(a.named), at, at+1)
	return a
}

// arguments evaluates the arguments of a call.
func (s *state) arguments(x arguments, sc *scope) (a args) {
	for _, e := range x.list {
		a.list = append(a.list, s.eval(e, sc))
	}
	for i, e := range x.named {
		a.names, a.named = append(a.names, x.names[i]), append(a.named, s.eval(e, sc))
	}
	if x.star != nil {
		a.list = append(a.list, s.items(s.eval(x.star, sc))...)
	}
	if x.starstar == nil {
		return a
	}
	d, ok := s.eval(x.starstar, sc).(*Dict)
	if !ok {
		fail("what follows ** has to be a dict")
	}
	s.charge(times(len(d.keys), overhead))
	for i, key := range d.keys {
		name, ok := textOf(key)
		if _, twice := a.named1(name); !ok || twice {
			fail("the keys after ** have to be names of arguments that are not given yet")
		}
		a.names, a.named = append(a.names, name), append(a.named, d.values[i])
	}
	return a
}

// absent stands for an argument that was not given.
type absent struct{}

// bind assigns arguments to parameters. A parameter that ends in = is optional.
func (s *state) bind(function string, a args, params ...string) []Value {
	if len(a.list) > len(params) {
		fail("%s takes at most %d arguments, not %d", function, len(params), len(a.list))
	}
	out := make([]Value, len(params))
	for i, p := range params {
		name, optional := strings.CutSuffix(p, "=")
		at, named := a.named1(name)
		switch {
		case i < len(a.list) && named:
			fail("%s has two values for the argument %s", function, name)
		case i < len(a.list):
			out[i] = a.list[i]
		case named:
			out[i] = a.named[at]
			a = a.without(at)
		case optional:
			out[i] = absent{}
		default:
			fail("%s lacks the argument %s", function, name)
		}
	}
	if len(a.names) > 0 {
		fail("%s has no argument %s", function, a.names[0])
	}
	return out
}

// or is v, or other if v is absent.
func or(v, other Value) Value {
	if _, ok := v.(absent); ok {
		return other
	}
	return v
}

// call calls a value.
func (s *state) call(f Value, a args) Value {
	s.spend(1)
	switch f := f.(type) {
	case *function:
		return f.call(s, a)
	case *macro:
		return f.call(s, a)
	case *loop:
		return f.call(s, a)
	case *undefined:
		fail("%s", f.message)
	}
	fail("%s object is not callable", quote(typeName(f)))
	return nil
}

func callable(v Value) bool {
	switch v.(type) {
	case *function, *macro, *loop, *undefined:
		return true
	}
	return false
}

// text returns an argument that has to be a text.
func (s *state) text(function string, v Value) string {
	text, ok := textOf(v)
	if !ok {
		s.refuse(v)
		fail("%s expects a string, not %s", function, typeName(v))
	}
	return text
}

// integer returns an argument that has to be a small integer.
func (s *state) integer(function string, v Value) int {
	n, ok := intOf(v)
	if !ok {
		s.refuse(v)
		fail("%s expects an integer of at most 64 bits, not %s", function, typeName(v))
	}
	return n
}

// refuse fails if one of the values is undefined, with the reason.
func (s *state) refuse(values ...Value) {
	for _, v := range values {
		if u, ok := v.(*undefined); ok {
			fail("%s", u.message)
		}
	}
}
