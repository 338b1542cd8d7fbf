package schema

import (
	"errors"
	"slices"

	"mla/runtime/grammar"
)

// Add makes rules of a schema in a grammar that is being made.
func Add(g *grammar.Grammar, text []byte, o Options) (grammar.Expr, error) {
	c, err := adding(g, text, o)
	if err != nil {
		return nil, err
	}
	return c.rule(c.root, "#")
}

func adding(g *grammar.Grammar, text []byte, o Options) (*compiler, error) {
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	c := newCompiler(root, o)
	c.g = g
	return c, nil
}

// Pairs says how an object's properties are written other than in JSON.
type Pairs struct {
	Pair func(key, value grammar.Expr) grammar.Expr
	// Bare is the characters that strings are made of, which stand without quotes.
	Bare grammar.Class
}

// AddPairs makes rules of a schema of an object whose properties are written as pairs. A
// property of type string stands without quotes, all else is JSON.
func AddPairs(g *grammar.Grammar, text []byte, o Options, p Pairs) (grammar.Expr, error) {
	c, err := adding(g, text, o)
	if err != nil {
		return nil, err
	}
	s := c.follow(c.root)
	if s == nil {
		return nil, errors.New("#: expected the schema of an object")
	}
	declared, _ := s.get("properties").(*object)
	if declared == nil {
		declared = &object{}
	}
	var list grammar.Seq
	for _, name := range declared.keys {
		value, err := c.pairValue(declared.get(name), "#/properties/"+name, p.Bare)
		if err != nil {
			return nil, err
		}
		pair := p.Pair(grammar.Literal(name), value)
		if !slices.Contains(required(s), name) {
			pair = grammar.Optional(pair)
		}
		list = append(list, pair)
	}
	for _, name := range required(s) {
		if !declared.has(name) {
			list = append(list, p.Pair(grammar.Literal(name), c.value()))
		}
	}
	if len(list) == 0 && s.get("additionalProperties") != false && !s.has("properties") {
		name := grammar.Repeat{Of: grammar.Class{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'Z'}, {Lo: '_', Hi: '_'}, {Lo: 'a', Hi: 'z'}}, Min: 1, Max: 64}
		list = append(list, grammar.Any(p.Pair(name, c.value())))
	}
	return g.Add("arguments", list), nil
}

// pairValue is the grammar of a property's value: its strings are bare if their type says
// that they are strings.
func (c *compiler) pairValue(v any, path string, bare grammar.Class) (grammar.Expr, error) {
	s, ok := v.(*object)
	if ok && s.has("type") && !slices.ContainsFunc(alone[:4], s.has) {
		if types, err := typesOf(s, path); err == nil && slices.Contains(types, "string") {
			c.bare = bare
			defer func() { c.bare = nil }()
			return c.at(s, path)
		}
	}
	return c.rule(v, path)
}

// quotes puts quotes around a string's grammar, unless it is bare.
func (c *compiler) quotes(e grammar.Expr) grammar.Expr {
	if c.bare != nil {
		return e
	}
	return grammar.Seq{grammar.Literal(`"`), e, grammar.Literal(`"`)}
}

// literal is a value of an enumeration.
func (c *compiler) literal(v any) grammar.Expr {
	if text, ok := v.(string); ok && c.bare != nil {
		return grammar.Literal(text)
	}
	return grammar.Literal(encode(v))
}
