package schema

import (
	"fmt"
	"slices"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/pattern"
)

// maxFurther is the most kinds of further properties of an object.
const maxFurther = 32

// membersOf is the grammar of an object: its declared properties in the schema's order, and then further
// ones.
func (c *compiler) membersOf(o *members) (grammar.Expr, error) {
	if len(o.exist) == 0 {
		return c.oneObject(o)
	}
	if len(o.exist) > 1 {
		return nil, &UnsupportedError{"", "not", "several further properties would have to be there"}
	}
	e, err := c.oneObject(o)
	if err != nil {
		return nil, err
	}
	all := grammar.Alt{e}
	for _, name := range o.names { // the name may be a declared one
		ok, err := c.Matches(o.exist[0].names, name)
		if err != nil {
			return nil, err
		}
		p := c.each(o.value(name), o.exist[0].value)
		if !ok || p == noValue {
			continue
		}
		other := *o
		other.exist = nil
		named := &members{most: -1, names: []string{name}, values: map[string]*condition{name: p}, required: []string{name}}
		if met := c.meetMembers(&other, named); met != nil {
			e, err := c.oneObject(met)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// property is a declared property.
type property struct {
	name     string
	value    grammar.Expr
	required bool
}

// pairs writes an object's properties.
type pairs struct {
	*compiler
	list        []property
	more        []grammar.Expr // pairs of further properties, by kind
	witness     grammar.Expr   // a further property that must exist, written last; nil: none
	least, most int
	name        string
	known       map[written]grammar.Ref
}

// written is what an object has after some of its properties.
type written struct {
	at   int  // index of the next declared property
	any  bool // there is a property
	all  int  // number of properties, up to the limit
	sure int  // number of certainly distinct ones, up to the minimum
	more bool // there is a further one
	done bool // the witness is written
}

func (c *compiler) oneObject(o *members) (grammar.Expr, error) {
	w := &pairs{compiler: c, least: o.least, most: o.most, known: map[written]grammar.Ref{}, name: fmt.Sprintf("properties %d", len(c.g.Rules))}
	names := slices.Clone(o.names)
	for _, name := range o.required {
		if !slices.Contains(o.names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		needed := slices.Contains(o.required, name)
		p, err := c.property(o, name)
		if err != nil {
			return nil, err
		}
		if p == noValue && !needed {
			continue
		}
		if p == noValue {
			return nothing, nil
		}
		e, err := c.rule(p)
		if err != nil {
			return nil, err
		}
		w.list = append(w.list, property{name, e, needed})
	}
	if w.least <= len(o.required) {
		w.least = 0
	}
	free, err := w.further(o, names)
	if err != nil {
		return nil, err
	}
	if free && w.least == 0 && w.most < 0 && len(w.list) == 0 && w.witness == nil {
		return c.anyObject(), nil
	}
	if w.most > maxStates && w.most <= 1<<16 || w.least > maxStates {
		return nil, &UnsupportedError{"", "minProperties", fmt.Sprintf("or maxProperties above %d", maxStates)}
	}
	if w.most > maxStates { // no output has that many
		w.most = -1
	}
	if w.least > len(w.list)+1 {
		return nil, &UnsupportedError{"", "minProperties", "of more than the declared properties and a further one, as the names of others may be equal"}
	}
	rest, err := w.from(written{})
	return grammar.Seq{grammar.Literal("{"), c.space(), rest}, err
}

// further finds the kinds of further properties; free says that they are unrestricted.
func (w *pairs) further(o *members, names []string) (free bool, err error) {
	spoken := o.spoken
	if len(w.list) == 0 || w.least > len(w.list) {
		spoken = pattern.All
	}
	var known []pattern.Language
	for _, name := range names {
		known = append(known, pattern.Text(name))
	}
	others := pattern.Not(pattern.Or(known...))
	if len(o.exist) > 0 {
		list, err := w.kinds(keyed{names: pattern.And(o.exist[0].names, others), value: o.exist[0].value}, o.keyed)
		if err != nil {
			return false, err
		}
		var all grammar.Alt
		for _, k := range list {
			e, err := w.pair(k)
			if err != nil {
				return false, err
			}
			all = append(all, e)
		}
		w.witness = all
	}
	if spoken == nil {
		return false, nil
	}
	list, err := w.kinds(keyed{names: pattern.And(spoken, others), value: anyValue}, o.keyed)
	if err != nil {
		return false, err
	}
	for _, k := range list {
		e, err := w.pair(k)
		if err != nil {
			return false, err
		}
		w.more = append(w.more, e)
	}
	return len(list) == 1 && list[0].names == pattern.All && list[0].value == anyValue, nil
}

// kinds divides names by the conditions of their values.
func (w *pairs) kinds(first keyed, by []keyed) ([]keyed, error) {
	list := []keyed{first}
	for _, k := range by {
		if k.value == anyValue {
			continue
		}
		var next []keyed
		for _, one := range list {
			in := keyed{names: pattern.And(one.names, k.names), value: w.each(one.value, k.value)}
			out := keyed{names: pattern.And(one.names, pattern.Not(k.names)), value: one.value}
			for _, part := range []keyed{in, out} {
				if part.value == noValue || part.names == pattern.Never {
					continue
				}
				if part.names != pattern.All {
					a, err := w.Automaton(part.names)
					if err != nil {
						return nil, err
					}
					if a.IsEmpty() {
						continue
					}
				}
				next = append(next, part)
			}
		}
		if list = next; len(list) > maxFurther {
			return nil, pattern.ErrTooLarge
		}
	}
	return list, nil
}

// pair is a further property.
func (w *pairs) pair(k keyed) (grammar.Expr, error) {
	key, err := w.stringOf(texts{Language: k.names}, nil)
	if err != nil {
		return nil, err
	}
	value, err := w.rule(k.value)
	return w.g.Add(w.name+", a further one", grammar.Seq{key, grammar.Literal(":"), w.space(), value}), err
}

// from is the grammar after what was written, up to the closing brace.
func (w *pairs) from(s written) (grammar.Expr, error) {
	if r, ok := w.known[s]; ok {
		return r, nil
	}
	if len(w.g.Rules) > maxRules {
		return nil, errTooLarge
	}
	r := w.g.Add(w.name, nil)
	w.known[s] = r
	var all grammar.Alt
	add := func(pair grammar.Expr, to written) error {
		rest, err := w.from(to)
		one := grammar.Seq{pair, rest}
		if s.any {
			one = grammar.Seq{grammar.Literal(","), w.space(), pair, rest}
		}
		all = append(all, one)
		return err
	}
	more := w.most < 0 || s.all < w.most
	if s.at < len(w.list) {
		p := &w.list[s.at]
		if more && !s.done {
			if err := add(grammar.Seq{grammar.Literal(quote(p.name) + ":"), w.space(), p.value}, w.after(s, false)); err != nil {
				return nil, err
			}
		}
		if !p.required {
			skip := s
			skip.at++
			rest, err := w.from(skip)
			if err != nil {
				return nil, err
			}
			all = append(all, rest)
		}
		w.g.Rules[r].Expr = all
		return r, nil
	}
	if more && !s.done {
		to := w.after(s, true)
		for _, pair := range w.more {
			if err := add(pair, to); err != nil {
				return nil, err
			}
		}
		if to.done = true; w.witness != nil {
			if err := add(w.witness, to); err != nil {
				return nil, err
			}
		}
	}
	if s.sure >= w.least && (w.witness == nil || s.done) {
		end := grammar.Expr(grammar.Literal("}"))
		if s.any {
			end = grammar.Seq{w.space(), end}
		}
		all = append(all, end)
	}
	w.g.Rules[r].Expr = all
	return r, nil
}

// after is the state after one more property. Further properties may have equal names, of which parsers take
// the last: so only one of them counts as certainly distinct.
func (w *pairs) after(s written, further bool) written {
	if s.any = true; w.most >= 0 {
		s.all++
	}
	if !further {
		s.at++
	}
	if s.sure < w.least && !(further && s.more) {
		s.sure++
		s.more = further
	}
	return s
}
