package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mla/runtime/grammar"
)

// property is one of an object's, in their order.
type property struct {
	name     string
	value    grammar.Expr
	required bool
}

// properties is the grammar of an object: its properties in the schema's order, and then
// further ones.
func (c *compiler) properties(s *object, path string) (grammar.Expr, error) {
	declared, ok := s.get("properties").(*object)
	if !ok {
		if s.has("properties") {
			return nil, fmt.Errorf("%s/properties: expected an object", path)
		}
		declared = &object{}
	}
	needed := required(s)
	further := s.get("additionalProperties") // nil: as far as nothing else is said
	if !s.has("additionalProperties") {
		further = len(declared.keys) == 0
	}
	var list []property
	for _, name := range declared.keys {
		at := path + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		e, err := c.rule(declared.get(name), at)
		if err != nil {
			return nil, err
		}
		list = append(list, property{name, e, slices.Contains(needed, name)})
	}
	var more grammar.Expr
	if further != false {
		e, err := c.rule(further, path+"/additionalProperties")
		if err != nil {
			return nil, err
		}
		more = e
	}
	for _, name := range needed {
		switch {
		case declared.has(name):
		case s.has("additionalProperties") && more == nil:
			return nil, fmt.Errorf("%s: the required property %q is not declared, and no other is allowed", path, name)
		case s.has("additionalProperties"):
			list = append(list, property{name, more, true})
		default:
			list = append(list, property{name, c.value(), true})
		}
	}
	if len(list) == 0 && further == true {
		return c.anyObject(), nil
	}
	return grammar.Seq{grammar.Literal("{"), c.space(), c.pairs(list, more, path)}, nil
}

// pairs is what comes behind the opening brace, made from its end: a rule for each property
// says what may follow if there was none before it, and one if there was.
func (c *compiler) pairs(list []property, more grammar.Expr, path string) grammar.Expr {
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	comma := grammar.Seq{grammar.Literal(","), c.space()}
	first := grammar.Expr(grammar.Literal("}"))
	behind := grammar.Expr(grammar.Seq{c.space(), grammar.Literal("}")})
	if more != nil {
		pair := grammar.Seq{c.otherKey(names), grammar.Literal(":"), c.space(), more}
		rest := grammar.Seq{grammar.Any(grammar.Seq{comma, pair}), behind}
		first, behind = grammar.Alt{first, grammar.Seq{pair, rest}}, rest
	}
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		rule := fmt.Sprintf("%s: property %q", path, p.name)
		next := behind
		if _, small := next.(grammar.Ref); !small {
			next = c.g.Add(rule+" and what follows", next)
		}
		pair := grammar.Seq{grammar.Literal(quote(p.name) + ":"), c.space(), p.value, next}
		with := grammar.Expr(grammar.Seq{comma, pair})
		if p.required {
			first, behind = c.g.Add(rule, pair), c.g.Add(rule, with)
			continue
		}
		first, behind = c.g.Add(rule, grammar.Alt{pair, first}), c.g.Add(rule, grammar.Alt{with, next})
	}
	return first
}

// otherKey is a key that is none of some names. Its characters stand for themselves, so that
// no other spelling is one of them.
func (c *compiler) otherKey(names []string) grammar.Expr {
	if len(names) == 0 {
		return c.string()
	}
	root := &letters{}
	for _, name := range names {
		if quote(name) == `"`+name+`"` {
			root.add(name)
		}
	}
	return grammar.Seq{grammar.Literal(`"`), root.others(), grammar.Literal(`"`)}
}

// letters is a trie of names.
type letters struct {
	next map[rune]*letters
	name bool // one ends here
}

func (l *letters) add(name string) {
	at := l
	for _, r := range name {
		if at.next == nil {
			at.next = map[rune]*letters{}
		}
		if at.next[r] == nil {
			at.next[r] = &letters{}
		}
		at = at.next[r]
	}
	at.name = true
}

// others is the texts that are no names.
func (l *letters) others() grammar.Expr {
	var all grammar.Alt
	var used grammar.Class
	for r := range l.next {
		used = append(used, grammar.Range{Lo: r, Hi: r})
	}
	slices.SortFunc(used, func(a, b grammar.Range) int { return int(a.Lo - b.Lo) })
	for _, r := range used {
		all = append(all, grammar.Seq{grammar.Class{r}, l.next[r.Lo].others()})
	}
	all = append(all, grammar.Seq{minus(plain, used), grammar.Any(plain)})
	if !l.name {
		all = append(all, grammar.Seq{})
	}
	return all
}

// minus is the characters of a class that are not in another.
func minus(c, without grammar.Class) grammar.Class {
	return grammar.Class(append(slices.Clone(c.Not()), without...)).Not()
}

// both is the characters of two classes.
func both(a, b grammar.Class) grammar.Class { return minus(a, b.Not()) }

// items is the grammar of an array.
func (c *compiler) items(s *object, path string) (grammar.Expr, error) {
	least, most, err := bounds(s, "minItems", "maxItems", path)
	if err != nil {
		return nil, err
	}
	var front []grammar.Expr
	if s.has("prefixItems") {
		l, err := list(s, "prefixItems", path)
		if err != nil {
			return nil, err
		}
		for i, v := range l {
			e, err := c.rule(v, fmt.Sprintf("%s/prefixItems/%d", path, i))
			if err != nil {
				return nil, err
			}
			front = append(front, e)
		}
	}
	item := c.value()
	if s.has("items") {
		if item, err = c.rule(s.get("items"), path+"/items"); err != nil {
			return nil, err
		}
	}
	if len(front) == 0 {
		return c.list(item, least, most), nil
	}
	return c.tuple(front, item, least, most), nil
}

// list is an array of items of one kind; most < 0: of any number.
func (c *compiler) list(item grammar.Expr, least, most int) grammar.Expr {
	open, end := grammar.Seq{grammar.Literal("["), c.space()}, grammar.Literal("]")
	if most == 0 {
		return grammar.Seq{open, end}
	}
	rest := grammar.Repeat{Of: grammar.Seq{grammar.Literal(","), c.space(), item}, Min: max(least-1, 0), Max: max(most, 0) - 1}
	all := grammar.Expr(grammar.Seq{item, rest, c.space()})
	if least == 0 {
		all = grammar.Optional(all)
	}
	return grammar.Seq{open, all, end}
}

// tuple is an array whose first items have schemas of their own.
func (c *compiler) tuple(front []grammar.Expr, item grammar.Expr, least, most int) grammar.Expr {
	comma := grammar.Seq{grammar.Literal(","), c.space()}
	n := len(front)
	if most >= 0 {
		n = min(n, most)
	}
	tail := grammar.Expr(grammar.Seq{})
	if most < 0 || most > n {
		tail = grammar.Repeat{Of: grammar.Seq{comma, item}, Min: max(least-n, 0), Max: max(most-n, -1)}
	}
	for i := n - 1; i >= 0; i-- {
		one := grammar.Seq{front[i], tail}
		if i > 0 {
			one = append(grammar.Seq{comma}, one...)
		}
		if tail = c.g.Add("items", one); i >= least {
			tail = grammar.Optional(tail)
		}
	}
	return grammar.Seq{grammar.Literal("["), c.space(), tail, c.space(), grammar.Literal("]")}
}

// text is the grammar of a string.
func (c *compiler) text(s *object, path string) (grammar.Expr, error) {
	least, most, err := bounds(s, "minLength", "maxLength", path)
	if err != nil {
		return nil, err
	}
	limited := least > 0 || most >= 0
	pattern, format := s.has("pattern"), s.has("format")
	switch {
	case pattern && (format || limited):
		if err := c.unsupported(path, "pattern", "together with format, minLength or maxLength"); err != nil {
			return nil, err
		}
	case format && limited:
		if err := c.unsupported(path, "format", "together with minLength or maxLength"); err != nil {
			return nil, err
		}
	}
	switch {
	case pattern:
		text, ok := s.get("pattern").(string)
		if !ok || !utf8.ValidString(text) {
			return nil, fmt.Errorf("%s/pattern: expected a text", path)
		}
		e, err := c.pattern(text)
		if err == nil {
			return e, nil
		}
		return c.anyText(), c.unsupported(path, "pattern", "%v", err)
	case format:
		name, _ := s.get("format").(string)
		if p, ok := formats[name]; ok {
			return c.pattern(p)
		}
		if err := c.unsupported(path, "format", "%q is not one of %s", name, formatNames()); err != nil {
			return nil, err
		}
	}
	if !limited {
		return c.anyText(), nil
	}
	one := grammar.Expr(c.bare)
	if c.bare == nil {
		one = grammar.Alt{plain, grammar.Seq{grammar.Literal(`\`), shortEscapes}}
	}
	return c.g.Add(path, c.quotes(grammar.Repeat{Of: one, Min: least, Max: most})), nil
}

// anyText is any string.
func (c *compiler) anyText() grammar.Expr {
	if c.bare != nil {
		return grammar.Any(c.bare)
	}
	return c.string()
}

// shortEscapes are characters behind a backslash that stand for one each.
var shortEscapes = grammar.Class{{Lo: '"', Hi: '"'}, {Lo: '/', Hi: '/'}, {Lo: '\\', Hi: '\\'}, {Lo: 'b', Hi: 'b'}, {Lo: 'f', Hi: 'f'}, {Lo: 'n', Hi: 'n'}, {Lo: 'r', Hi: 'r'}, {Lo: 't', Hi: 't'}}
