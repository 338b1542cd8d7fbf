package schema

import (
	"cmp"
	"fmt"
	"slices"

	"mla/runtime/text/grammar/pattern"
)

// members is a constraint on objects.
type members struct {
	names       []string // names with constraints, in order
	values      map[string]*condition
	required    []string
	least, most int // number of properties; most < 0: no limit
	keyed       []keyed
	exist       []keyed          // for each, at least one property exists
	spoken      pattern.Language // names of further properties that the schema mentions; nil: none
	seen        pattern.Language // names that keywords have evaluated; nil: none
}

// keyed is a condition on properties whose names belong to a language.
type keyed struct {
	names  pattern.Language
	value  *condition
	except map[string]bool // names that are excluded from it
}

// value is the condition of a name's value; any if there is none.
func (o *members) value(name string) *condition {
	if p, ok := o.values[name]; ok {
		return p
	}
	return anyValue
}

// name adds a condition for a name.
func (c *compiler) name(o *members, name string, p *condition) {
	if o.values == nil {
		o.values = map[string]*condition{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = c.each(o.value(name), p)
}

func (o *members) require(names ...string) {
	for _, name := range names {
		if !slices.Contains(o.required, name) {
			o.required = append(o.required, name)
		}
	}
}

func either(a, b pattern.Language) pattern.Language {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return pattern.Or(a, b)
}

// meetMembers is the intersection; nil if it is obviously empty.
func (c *compiler) meetMembers(a, b *members) *members {
	if c.Spend(64+32*(len(a.names)+len(b.names))) != nil {
		return nil // met has recorded it
	}
	out := &members{least: max(a.least, b.least), most: a.most, keyed: slices.Concat(a.keyed, b.keyed), exist: slices.Concat(a.exist, b.exist), spoken: either(a.spoken, b.spoken), seen: either(a.seen, b.seen)}
	if a.most < 0 || b.most >= 0 && b.most < a.most {
		out.most = b.most
	}
	for _, o := range []*members{a, b} {
		for _, name := range o.names {
			c.name(out, name, o.values[name])
		}
		out.require(o.required...)
	}
	for _, name := range out.required {
		if out.value(name) == noValue {
			return nil
		}
	}
	if out.most >= 0 && max(out.least, len(out.required)) > out.most {
		return nil
	}
	return out
}

// notMembers is the complement.
func (c *compiler) notMembers(o *members) (list []*members) {
	add := func() *members {
		one := &members{most: -1}
		list = append(list, one)
		return one
	}
	for _, name := range o.names {
		if p := o.values[name]; p != anyValue {
			one := add()
			c.name(one, name, c.not(p))
			one.require(name)
		}
	}
	for _, name := range o.required {
		c.name(add(), name, noValue)
	}
	for _, k := range o.keyed {
		if k.value != anyValue {
			one := add()
			one.exist = []keyed{{names: k.names, value: c.not(k.value)}}
		}
	}
	for _, k := range o.exist {
		one := add()
		one.keyed = []keyed{{names: k.names, value: c.not(k.value)}}
	}
	if o.least > 0 {
		add().most = o.least - 1
	}
	if o.most >= 0 {
		add().least = o.most + 1
	}
	return list
}

// emptyMembers says whether no object is possible, if that is certain.
func (c *compiler) emptyMembers(o *members) bool {
	for _, name := range o.required {
		if p, err := c.property(o, name); err == nil && c.empty(p) {
			return true
		}
	}
	return slices.ContainsFunc(o.exist, func(k keyed) bool { return k.value == noValue })
}

// property is the conjunction of all conditions for a name's value.
func (c *compiler) property(o *members, name string) (*condition, error) {
	p := o.value(name)
	for _, k := range o.keyed {
		if k.except[name] || k.value == anyValue {
			continue
		}
		ok, err := c.Matches(k.names, name)
		if err != nil {
			return nil, err
		}
		if ok {
			p = c.each(p, k.value)
		}
	}
	return p, nil
}

// objects is the constraint of a schema's keywords on objects.
func (c *compiler) objects(p place, exact bool) (*members, error) {
	s, path := p.schema, p.path
	o := &members{}
	var err error
	if o.least, o.most, err = bounds(s, "minProperties", "maxProperties", path); err != nil {
		return nil, err
	}
	declared, ok := s.get("properties").(*object)
	if !ok && s.get("properties") != nil { // Go encodes an unset map as null
		return nil, fmt.Errorf("%s/properties: expected an object", path)
	}
	var list []pattern.Language
	except := map[string]bool{}
	if ok {
		for _, name := range declared.keys {
			value, err := c.child(p, declared.get(name), pointer(path+"/properties", name))
			if err != nil {
				return nil, err
			}
			c.name(o, name, value)
			list, except[name] = append(list, pattern.Text(name)), true
		}
	}
	names, ok := required(s)
	if !ok {
		if err := c.unsupported(path, "required", "expected a list of names"); err != nil {
			return nil, err
		}
	}
	o.require(names...)
	known := pattern.Or(list...)
	if err := c.keys(o, &known, p, exact); err != nil {
		return nil, err
	}
	o.seen = known
	if s.has("additionalProperties") {
		value, err := c.child(p, s.get("additionalProperties"), path+"/additionalProperties")
		if err != nil {
			return nil, err
		}
		o.keyed = append(o.keyed, keyed{pattern.Not(known), value, except})
		o.seen = pattern.All
		if value != noValue {
			o.spoken = pattern.All
		}
		if name := c.undeclared(o); value == noValue && name != "" {
			return nil, fmt.Errorf("%s: the required property %q is not declared, and no other is allowed", path, name)
		}
	}
	return o, c.Spend(16 * len(o.names))
}

// undeclared is a required property that may not exist; "": none.
func (c *compiler) undeclared(o *members) string {
	for _, name := range o.required {
		if p, err := c.property(o, name); err == nil && p == noValue {
			return name
		}
	}
	return ""
}

// keys adds the conditions for names by patterns, and for all names.
func (c *compiler) keys(o *members, known *pattern.Language, p place, exact bool) error {
	s := p.schema
	patterns, ok := s.get("patternProperties").(*object)
	if s.has("patternProperties") && !ok {
		return fmt.Errorf("%s/patternProperties: expected an object", p.path)
	}
	if ok {
		for _, text := range patterns.keys {
			names, err := c.Parse(text)
			if err != nil {
				if err := c.failed(err, p.path, "patternProperties"); err != nil {
					return err
				}
				names = pattern.Never
			}
			value, err := c.child(p, patterns.get(text), pointer(p.path+"/patternProperties", text))
			if err != nil {
				return err
			}
			o.keyed = append(o.keyed, keyed{names: names, value: value})
			*known = pattern.Or(*known, names)
			if value != noValue {
				o.spoken = either(o.spoken, names)
			}
		}
	}
	if !s.has("propertyNames") {
		return nil
	}
	names, err := c.child(p, s.get("propertyNames"), p.path+"/propertyNames")
	if err != nil {
		return err
	}
	f, err := c.form(names, exact)
	if err != nil {
		return err
	}
	n, err := c.languageOf(f.text)
	if err != nil {
		return err
	}
	if n != pattern.All {
		o.keyed = append(o.keyed, keyed{names: pattern.Not(n), value: noValue})
	}
	return nil
}

// unseenMembers is an object whose properties satisfy p unless a keyword has evaluated them.
func (c *compiler) unseenMembers(o *members, p *condition) *members {
	seen := o.seen
	if seen == nil {
		seen = pattern.Never
	}
	other := &members{most: -1, keyed: []keyed{{names: pattern.Not(seen), value: p}}}
	if p != noValue {
		other.spoken = pattern.All
	}
	out := c.meetMembers(o, other)
	if out != nil {
		out.seen = pattern.All
	}
	return out
}
