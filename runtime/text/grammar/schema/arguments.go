package schema

import (
	"context"
	"errors"

	"mla/runtime/text/grammar"
)

// Add adds the rules of a schema to a grammar.
func Add(ctx context.Context, g *grammar.Grammar, text []byte, o Options) (grammar.Expr, error) {
	return adding(ctx, g, o, anything(text), func(g *grammar.Grammar, d detail) (grammar.Expr, error) {
		c, err := newCompiler(ctx, g, text, o, d)
		if err != nil {
			return nil, err
		}
		return c.rule(c.root)
	})
}

// adding adds rules with as much detail as possible.
func adding(ctx context.Context, g *grammar.Grammar, o Options, whole func() *grammar.Grammar, with func(*grammar.Grammar, detail) (grammar.Expr, error)) (e grammar.Expr, err error) {
	made, err := tried(ctx, o, whole, func(d detail) (*grammar.Grammar, error) {
		own := &grammar.Grammar{}
		root := own.Add("root", nil)
		e, err := with(own, d)
		own.Rules[root].Expr = e
		return own, err
	})
	if err != nil {
		return nil, err
	}
	return g.Include(made), nil
}

// Pairs is how an object's properties are written if not as JSON.
type Pairs struct {
	Pair func(key, value grammar.Expr) grammar.Expr
	// Bare is the characters of strings, which are written without quotes.
	Bare grammar.Class
}

// AddPairs adds the rules of an object's schema whose properties are written as pairs. Properties of type
// string are written without quotes, all others as JSON.
func AddPairs(ctx context.Context, g *grammar.Grammar, text []byte, o Options, p Pairs) (grammar.Expr, error) {
	whole := func() *grammar.Grammar { return anyPairs(p) }
	return adding(ctx, g, o, whole, func(g *grammar.Grammar, d detail) (grammar.Expr, error) {
		c, err := newCompiler(ctx, g, text, o, d)
		if err != nil {
			return nil, err
		}
		return c.arguments(p)
	})
}

// arguments is the grammar of pairs for any of the objects that the schema allows.
func (c *compiler) arguments(p Pairs) (grammar.Expr, error) {
	f, err := c.form(c.root, false)
	if err != nil {
		return nil, err
	}
	if len(f.objects) == 0 {
		return nil, errors.New("#: expected the schema of an object")
	}
	var all grammar.Alt
	for _, o := range f.objects {
		e, err := c.pairList(o, p)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (c *compiler) pairList(o *members, p Pairs) (grammar.Expr, error) {
	var list grammar.Seq
	add := func(name string, needed bool) error {
		condition, err := c.property(o, name)
		if err != nil || condition == noValue && !needed {
			return err
		}
		value, err := c.pairValue(condition, p.Bare)
		pair := p.Pair(grammar.Literal(name), value)
		if !needed {
			pair = grammar.Optional(pair)
		}
		list = append(list, pair)
		return err
	}
	needed := map[string]bool{}
	for _, name := range o.required {
		needed[name] = true
	}
	for _, name := range o.names {
		if err := add(name, needed[name]); err != nil {
			return nil, err
		}
		delete(needed, name)
	}
	for _, name := range o.required {
		if needed[name] {
			if err := add(name, true); err != nil {
				return nil, err
			}
		}
	}
	if len(list) == 0 && len(o.keyed) == 0 {
		list = append(list, c.anyPairs(p))
	}
	return c.g.Add("arguments", list), nil
}

// pairValue is the grammar of a property's value. Strings are without quotes if the property's type says that
// it is a string.
func (c *compiler) pairValue(p *condition, bare grammar.Class) (grammar.Expr, error) {
	if !c.bareString(p) {
		return c.rule(p)
	}
	f, err := c.form(p, false)
	if err != nil {
		return nil, err
	}
	e, err := c.values(f, p.path(), bare)
	return c.g.Add(p.path(), e), err
}

// anyPairs is pairs with any names and values.
func (c *compiler) anyPairs(p Pairs) grammar.Expr {
	name := grammar.Repeat{Of: grammar.Class{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'Z'}, {Lo: '_', Hi: '_'}, {Lo: 'a', Hi: 'z'}}, Min: 1, Max: 64}
	return grammar.Any(p.Pair(name, c.value()))
}

func anyPairs(p Pairs) *grammar.Grammar {
	c := &compiler{g: &grammar.Grammar{}, shared: map[string]grammar.Ref{}}
	start := c.g.Add("root", nil)
	c.g.Rules[start].Expr = c.anyPairs(p)
	return c.g
}
