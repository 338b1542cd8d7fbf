package schema

import (
	"fmt"
	"slices"
	"strconv"

	"mla/runtime/text/grammar/pattern"
)

// branches is the conditions of a keyword's list of schemas.
func (c *compiler) branches(p place, keyword string) (of []*condition, err error) {
	l, err := list(p.schema, keyword, p.path)
	if err != nil {
		return nil, err
	}
	for i, v := range l {
		one, err := c.child(p, v, p.path+"/"+keyword+"/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		of = append(of, one)
	}
	return of, nil
}

func (c *compiler) allOf(p place, exact bool) (*form, error) {
	of, err := c.branches(p, "allOf")
	if err != nil {
		return nil, err
	}
	out := full(allKinds)
	for _, one := range of {
		f, err := c.form(one, exact)
		if err == nil {
			f, err = c.meet(out, f)
		}
		if err != nil {
			if err = c.without(err, p, "allOf", exact); err != nil {
				return nil, err
			}
			continue
		}
		out = f
	}
	return out, nil
}

func (c *compiler) anyOf(p place, exact bool) (*form, error) {
	of, err := c.branches(p, "anyOf")
	if err != nil {
		return nil, err
	}
	return c.either(of, exact)
}

// either is the values that satisfy any of some conditions.
func (c *compiler) either(of []*condition, exact bool) (*form, error) {
	out := full(0)
	for i, one := range of {
		f, err := c.form(one, exact)
		if err != nil {
			return nil, err
		}
		if !exact {
			f = f.meant()
		}
		if i == 0 {
			out = f
			continue
		}
		if out, err = c.join(out, f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// oneOf is the values of each schema without those of all others.
func (c *compiler) oneOf(p place, exact bool) (*form, error) {
	of, err := c.branches(p, "oneOf")
	if err != nil {
		return nil, err
	}
	out := full(0)
	for i, one := range of {
		f, err := c.form(one, exact)
		if err != nil {
			return nil, err
		}
		if !exact {
			f = f.meant()
		}
		for j, other := range of {
			if i == j || c.empty(c.each(one, other)) {
				continue
			}
			if c.Spent() {
				return nil, pattern.ErrTooLarge
			}
			if f, err = c.apart(f, other, exact); err != nil {
				if !c.Lenient || exact || c.Spent() {
					return nil, c.notApart(err, p)
				}
				c.pass(&UnsupportedError{p.path, "oneOf", err.Error()})
				return c.either(of, exact)
			}
		}
		if i == 0 {
			out = f
		} else if out, err = c.join(out, f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// notApart is the error of a oneOf.
func (c *compiler) notApart(err error, p place) error {
	if c.Spent() || c.ctx.Err() != nil {
		return err
	}
	return &UnsupportedError{p.path, "oneOf", fmt.Sprintf("its alternatives do not exclude each other in a way that can be held; use anyOf (%v)", err)}
}

// apart is a form without the values that satisfy a condition. If one property distinguishes the objects,
// that property is used.
func (c *compiler) apart(f *form, other *condition, exact bool) (*form, error) {
	g, err := c.form(other, true)
	if err != nil {
		return nil, err
	}
	if !exact && len(f.objects) > 0 && len(g.objects) == 1 {
		if told := c.told(f.objects, g.objects[0]); told != nil {
			out := *f
			out.objects, out.loose = told, true
			rest := *g
			rest.objects = nil
			g, f = &rest, &out
		}
	}
	not, err := c.turn(g)
	if err != nil {
		return nil, err
	}
	return c.meet(f, not)
}

// told is objects with a property that distinguishes them from another one; nil: one of them has no such
// property.
func (c *compiler) told(list []*members, other *members) (out []*members) {
	for _, o := range list {
		at := slices.IndexFunc(o.names, func(name string) bool {
			p := other.value(name)
			return p != anyValue && c.empty(c.each(o.values[name], p))
		})
		if at < 0 {
			return nil
		}
		one := *o
		one.required = slices.Clone(o.required)
		one.require(o.names[at])
		if !c.emptyMembers(&one) {
			out = append(out, &one)
		}
	}
	return out
}

func (c *compiler) notForm(p place, _ bool) (*form, error) {
	of, err := c.child(p, p.schema.get("not"), p.path+"/not")
	if err != nil {
		return nil, err
	}
	f, err := c.form(of, true)
	if err != nil {
		return nil, err
	}
	return c.turn(f)
}

// ifForm is (if and then) or (not if and else).
func (c *compiler) ifForm(p place, exact bool) (*form, error) {
	s := p.schema
	cond, err := c.child(p, s.get("if"), p.path+"/if")
	if err != nil {
		return nil, err
	}
	yes, err := c.form(cond, true)
	if err != nil {
		return nil, err
	}
	no, err := c.turn(yes)
	if err != nil {
		return nil, err
	}
	for _, branch := range []struct {
		keyword string
		form    **form
	}{{"then", &yes}, {"else", &no}} {
		if !s.has(branch.keyword) {
			continue
		}
		f, err := c.childForm(p, s.get(branch.keyword), p.path+"/"+branch.keyword, exact)
		if err != nil {
			return nil, err
		}
		if *branch.form, err = c.meet(*branch.form, f); err != nil {
			return nil, err
		}
	}
	out, err := c.join(yes, no)
	if err == nil {
		out.about, out.typed = 0, false
	}
	return out, err
}

// dependent is, for each name, objects without it, or objects that satisfy what depends on it.
func (c *compiler) dependent(p place, exact bool) (*form, error) {
	out := full(allKinds)
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		if !p.schema.has(keyword) {
			continue
		}
		of, ok := p.schema.get(keyword).(*object)
		if !ok {
			return nil, fmt.Errorf("%s/%s: expected an object", p.path, keyword)
		}
		for _, name := range of.keys {
			f, err := c.follows(p, name, of.get(name), pointer(p.path+"/"+keyword, name), exact)
			if err != nil {
				return nil, err
			}
			if out, err = c.meet(out, f); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// follows is what depends on a name: required properties or a schema.
func (c *compiler) follows(p place, name string, v any, path string, exact bool) (*form, error) {
	with := full(allKinds)
	if l, ok := v.([]any); ok {
		names, ok := required(&object{values: map[string]any{"required": l}})
		if !ok {
			return nil, &UnsupportedError{path, name, "expected a list of names"}
		}
		with.objects[0].require(names...)
	} else {
		f, err := c.childForm(p, v, path, exact)
		if err != nil {
			return nil, err
		}
		with = f
	}
	has := full(kindObject)
	has.objects[0].require(name)
	with, err := c.meet(with, has)
	if err != nil {
		return nil, err
	}
	without := full(allKinds)
	c.name(without.objects[0], name, noValue)
	out, err := c.join(with, without)
	if err == nil {
		out.about, out.typed = 0, false
	}
	return out, err
}
