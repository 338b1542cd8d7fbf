package schema

import (
	"slices"

	"mla/runtime/text/grammar/pattern"
)

// form is a set of values, by their types. Numbers, arrays and objects are each any of a
// list of constraints. A form does not change once it is made.
type form struct {
	null, yes, no bool // null, true and false
	text          texts
	numbers       []*numeric
	arrays        []*array
	objects       []*members
	// about are the types that keywords have spoken of without a type. Where none is said,
	// values are of these alone.
	about kinds
	typed bool // a type is said
	loose bool // there are values that are valid and not in it
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
	kindInteger // a number, too
)

const allKinds = kindNull | kindBoolean | kindText | kindNumber | kindArray | kindObject

// maxCases is how many constraints a form may have of one type.
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

// kinds are the types of which a form has values.
func (f *form) kinds() (k kinds) {
	for kind, has := range map[kinds]bool{kindNull: f.null, kindBoolean: f.yes || f.no, kindText: !f.text.none(), kindNumber: len(f.numbers) > 0, kindArray: len(f.arrays) > 0, kindObject: len(f.objects) > 0} {
		if has {
			k |= kind
		}
	}
	return k
}

// only is a form without the values of other types.
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

// meant is a form without values of types that nobody has spoken of.
func (f *form) meant() *form {
	if f.typed || f.about == 0 || f.kinds() != allKinds {
		return f
	}
	out := f.only(f.about)
	out.typed, out.loose = true, true
	return out
}

// meet is the values of both.
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

// met meets each constraint of one list with each of another. nil: no value meets both.
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

// join is the values of either.
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

// turn is all other values. The form has to be exact.
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

// form is that of a condition. An exact one has all values that meet it; the other has no
// others, and may lack some.
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

// empty says that no value meets a condition. Where that is not certain, it says no.
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

// hollow says that a form has no values, as far as that is certain.
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
