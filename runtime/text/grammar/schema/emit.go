package schema

import (
	"slices"

	"mla/runtime/text/grammar"
)

// nothing matches no text.
var nothing = grammar.Alt{}

// values is the grammar of a form at a path. Strings of characters in bare are written without quotes.
func (c *compiler) values(f *form, path string, bare grammar.Class) (grammar.Expr, error) {
	f = f.meant()
	var all grammar.Alt
	for _, word := range []struct {
		text string
		is   bool
	}{{"null", f.null}, {"true", f.yes}, {"false", f.no}} {
		if word.is {
			all = append(all, grammar.Literal(word.text))
		}
	}
	if !f.text.none() {
		e, err := c.stringOf(f.text, bare)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	add := func(e grammar.Expr, err error, without func() (grammar.Expr, error)) error {
		if err != nil {
			if tooLarge(err) || c.ctx.Err() != nil {
				return err
			}
			if err = c.unsupportedBy(err, path, ""); err != nil {
				return err
			}
			e, err = without()
		}
		all = append(all, e)
		return err
	}
	for _, n := range f.numbers {
		e, err := c.numberOf(n)
		if err = add(e, err, func() (grammar.Expr, error) { return c.anyNumber(n.integer()), nil }); err != nil {
			return nil, err
		}
	}
	for _, a := range f.arrays {
		e, err := c.arrayOf(a)
		if err = add(e, err, func() (grammar.Expr, error) { return c.looseArray(a) }); err != nil {
			return nil, err
		}
	}
	for _, o := range f.objects {
		e, err := c.membersOf(o)
		if err = add(e, err, func() (grammar.Expr, error) { return c.looseObject(o) }); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// looseArray is the grammar of an array without the constraints that are not supported.
func (c *compiler) looseArray(a *array) (grammar.Expr, error) {
	out := *a
	out.unique, out.counts = false, nil
	if max(out.least, out.most) > maxStates {
		out.front, out.rest = nil, anyValue
	}
	return c.arrayOf(&out)
}

// looseObject is the grammar of an object without the constraints that are not supported.
func (c *compiler) looseObject(o *members) (grammar.Expr, error) {
	out := *o
	out.exist, out.least, out.most = nil, 0, -1
	return c.oneObject(&out)
}

// bareString says whether a property's strings are written without quotes: its own schema has to say that
// they are strings.
func (c *compiler) bareString(p *condition) bool {
	if p.kind != isSchema || slices.ContainsFunc([]string{"$ref", "allOf", "anyOf", "oneOf"}, p.place.schema.has) {
		return false
	}
	types, err := typesOf(p.place.schema, "")
	return err == nil && slices.Contains(types, "string")
}
