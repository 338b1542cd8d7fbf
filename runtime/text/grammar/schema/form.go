package schema

import (
	"slices"

	"mla/runtime/text/grammar/pattern"
)

// form is an immutable set of values, by type. Numbers, arrays and objects satisfy any one of a list of
// constraints.
type form struct {
	null, yes, no bool // null, true and false
	text          texts
	numbers       []*numeric
	arrays        []*array
	objects       []*members
	// about is the types that keywords without "type" are about. Without "type", values are restricted to
	// these.
	about kinds
	typed bool // "type" is given
	loose bool // some valid values are missing
}

// kinds are types of values.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindText
	kindNumber
	kindArray
	kindObject
	kindInteger // a subset of numbers
)

const allKinds = kindNull | kindBoolean | kindText | kindNumber | kindArray | kindObject

// maxCases is the most constraints of a form for one type.
const maxCases = 64

// full is all values of some types.
func full(k kinds) *form {
	f := &form{null: k&kindNull != 0, yes: k&kindBoolean != 0, no: k&kindBoolean != 0, text: noText}
	if k&kindText != 0 {
		f.text = anyText
	}
	switch {
	case k&kindNumber != 0:
		f.numbers = []*numeric{{}}
	case k&kindInteger != 0:
		f.numbers = []*numeric{{multiples: []*rat{one}}}
	}
	if k&kindArray != 0 {
		f.arrays = []*array{{most: -1, rest: anyValue}}
	}
	if k&kindObject != 0 {
		f.objects = []*members{{most: -1}}
	}
	return f
}

// kinds is the types of a form's values.
func (f *form) kinds() (k kinds) {
	for kind, has := range map[kinds]bool{kindNull: f.null, kindBoolean: f.yes || f.no, kindText: !f.text.none(), kindNumber: len(f.numbers) > 0, kindArray: len(f.arrays) > 0, kindObject: len(f.objects) > 0} {
		if has {
			k |= kind
		}
	}
	return k
}

// only is the form restricted to some types.
func (f *form) only(k kinds) *form {
	out := *f
	out.null, out.yes, out.no = f.null && k&kindNull != 0, f.yes && k&kindBoolean != 0, f.no && k&kindBoolean != 0
	if k&kindText == 0 {
		out.text = noText
	}
	if k&kindNumber == 0 {
		out.numbers = nil
	}
	if k&kindArray == 0 {
		out.arrays = nil
	}
	if k&kindObject == 0 {
		out.objects = nil
	}
	return &out
}

// meant is the form restricted to the types that keywords are about.
func (f *form) meant() *form {
	if f.typed || f.about == 0 || f.kinds() != allKinds {
		return f
	}
	out := f.only(f.about)
	out.typed, out.loose = true, true
	return out
}

// meet is the intersection.
func (c *compiler) meet(a, b *form) (*form, error) {
	out := &form{null: a.null && b.null, yes: a.yes && b.yes, no: a.no && b.no, about: a.about | b.about, typed: a.typed || b.typed, loose: a.loose || b.loose}
	var err error
	if out.text, err = c.meetTexts(a.text, b.text); err != nil {
		return nil, err
	}
	if out.numbers, err = met(c, a.numbers, b.numbers, c.meetNumbers); err != nil {
		return nil, err
	}
	if out.arrays, err = met(c, a.arrays, b.arrays, c.meetArrays); err != nil {
		return nil, err
	}
	out.objects, err = met(c, a.objects, b.objects, c.meetMembers)
	return out, err
}

// met intersects each constraint of one list with each of another; nil: it is empty.
func met[T any](c *compiler, a, b []*T, meet func(a, b *T) *T) (out []*T, err error) {
	if err := c.Spend(1 + 16*len(a)*len(b)); err != nil {
		return nil, err
	}
	for _, x := range a {
		for _, y := range b {
			if c.Spent() {
				return nil, pattern.ErrTooLarge
			}
			if z := meet(x, y); z != nil {
				out = append(out, z)
			}
		}
	}
	if len(out) > maxCases || c.Spent() {
		return nil, pattern.ErrTooLarge
	}
	return out, nil
}

// join is the union.
func (c *compiler) join(a, b *form) (*form, error) {
	out := &form{null: a.null || b.null, yes: a.yes || b.yes, no: a.no || b.no, loose: a.loose || b.loose, about: a.about & b.about, typed: a.typed && b.typed}
	if a.typed != b.typed || a.about != 0 && b.about != 0 {
		out.typed = a.typed || a.about != 0
		out.typed = out.typed && (b.typed || b.about != 0)
	}
	var err error
	if out.text, err = c.joinTexts(a.text, b.text); err != nil {
		return nil, err
	}
	out.numbers = append(slices.Clone(a.numbers), b.numbers...)
	out.arrays = append(slices.Clone(a.arrays), b.arrays...)
	out.objects = append(slices.Clone(a.objects), b.objects...)
	if max(len(out.numbers), len(out.arrays), len(out.objects)) > 8*maxCases {
		return nil, pattern.ErrTooLarge
	}
	return out, c.Spend(len(out.numbers) + len(out.arrays) + len(out.objects))
}

// turn is the complement. The form has to be exact.
func (c *compiler) turn(f *form) (*form, error) {
	out := full(allKinds)
	out.null, out.yes, out.no = !f.null, !f.yes, !f.no
	var err error
	if out.text, err = c.notTexts(f.text); err != nil {
		return nil, err
	}
	for _, n := range f.numbers {
		if out.numbers, err = met(c, out.numbers, n.not(), c.meetNumbers); err != nil {
			return nil, err
		}
	}
	for _, a := range f.arrays {
		others, err := c.notArray(a)
		if err != nil {
			return nil, err
		}
		if out.arrays, err = met(c, out.arrays, others, c.meetArrays); err != nil {
			return nil, err
		}
	}
	for _, o := range f.objects {
		if out.objects, err = met(c, out.objects, c.notMembers(o), c.meetMembers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// form is the form of a condition. An exact form has all values that satisfy it. An inexact one has only such
// values, but may lack some.
func (c *compiler) form(p *condition, exact bool) (*form, error) {
	key := formKey{p, exact}
	if f, ok := c.forms[key]; ok {
		return f, nil
	}
	if c.busy[key] {
		return nil, errItself(p)
	}
	if err := c.Spend(64); err != nil {
		return nil, err
	}
	c.busy[key] = true
	f, err := c.find(p, exact)
	delete(c.busy, key)
	if err == nil {
		c.forms[key] = f
	}
	return f, err
}

func (c *compiler) find(p *condition, exact bool) (*form, error) {
	switch p.kind {
	case isAny:
		return full(allKinds), nil
	case isNone:
		return full(0), nil
	case isSchema:
		return c.keywords(p.place, exact)
	case isNot:
		f, err := c.form(p.of[0], true)
		if err != nil {
			return nil, err
		}
		return c.turn(f)
	}
	var out *form
	for _, of := range p.of {
		f, err := c.form(of, exact)
		if err != nil {
			return nil, err
		}
		switch {
		case p.kind == isSome && !exact:
			f = f.meant()
		}
		switch {
		case out == nil:
			out = f
		case p.kind == isEach:
			out, err = c.meet(out, f)
		default:
			out, err = c.join(out, f)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// empty says whether no value satisfies a condition; false if that is not certain.
func (c *compiler) empty(p *condition) bool {
	switch p.kind {
	case isAny:
		return false
	case isNone:
		return true
	}
	if c.nested > 8 || c.busy[formKey{p, true}] || c.Spend(256) != nil {
		return false
	}
	c.nested++
	defer func() { c.nested-- }()
	f, err := c.form(p, true)
	return err == nil && c.hollow(f)
}

// hollow says whether a form has no values, if that is certain.
func (c *compiler) hollow(f *form) bool {
	if f.null || f.yes || f.no {
		return false
	}
	if !f.text.none() {
		if f.text.isWords {
			return false
		}
		n, err := c.languageOf(f.text)
		if err != nil {
			return false
		}
		a, err := c.Automaton(n)
		if err != nil || !a.IsEmpty() {
			return false
		}
	}
	return len(f.numbers) == 0 &&
		!slices.ContainsFunc(f.arrays, func(a *array) bool { return !c.emptyArray(a) }) &&
		!slices.ContainsFunc(f.objects, func(o *members) bool { return !c.emptyMembers(o) })
}
