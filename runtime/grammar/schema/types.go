package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"mla/runtime/grammar"
)

// typeOf is the type of values that a keyword is about.
var typeOf = map[string]string{
	"properties": "object", "required": "object", "additionalProperties": "object", "patternProperties": "object", "propertyNames": "object", "minProperties": "object", "maxProperties": "object",
	"items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array", "additionalItems": "array", "contains": "array", "minContains": "array", "maxContains": "array", "uniqueItems": "array",
	"pattern": "string", "format": "string", "minLength": "string", "maxLength": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
}

// refusedOf are keywords without a grammar, of a type.
var refusedOf = map[string][]string{
	"object": {"patternProperties", "propertyNames", "minProperties", "maxProperties"},
	"array":  {"additionalItems", "contains", "minContains", "maxContains", "uniqueItems"},
}

// typed is the grammar of a schema by its types, or by those that its keywords are about.
func (c *compiler) typed(s *object, path string) (grammar.Expr, error) {
	types, err := typesOf(s, path)
	if err != nil {
		return nil, err
	}
	if len(types) == 0 {
		for _, k := range s.keys {
			if t, ok := typeOf[k]; ok && !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	if len(types) == 0 {
		return c.value(), nil
	}
	if slices.Contains(types, "number") {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
	}
	var all grammar.Alt
	for _, t := range types {
		for _, k := range refusedOf[t] {
			if s.has(k) && (k != "uniqueItems" || s.get(k) != false) {
				if err := c.unsupported(path, k, ""); err != nil {
					return nil, err
				}
			}
		}
		e, err := c.ofType(t, s, path)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (c *compiler) ofType(t string, s *object, path string) (grammar.Expr, error) {
	if t != "string" { // only a string itself is bare
		bare := c.bare
		c.bare = nil
		defer func() { c.bare = bare }()
	}
	switch t {
	case "object":
		return c.properties(s, path)
	case "array":
		return c.items(s, path)
	case "string":
		return c.text(s, path)
	case "number", "integer":
		return c.numbers(s, t == "integer", path)
	case "boolean":
		return grammar.Alt{grammar.Literal("true"), grammar.Literal("false")}, nil
	}
	return grammar.Literal("null"), nil
}

// maxIndent is how many blanks and tabs may follow a line break.
const maxIndent = 40

// space is a blank, or a line break with its indent, or nothing.
func (c *compiler) space() grammar.Expr {
	return c.share("space", func() grammar.Expr {
		return grammar.Optional(grammar.Alt{grammar.Literal(" "), grammar.Seq{grammar.Literal("\n"), grammar.Repeat{Of: grammar.Class{{Lo: ' ', Hi: ' '}, {Lo: '\t', Hi: '\t'}}, Max: maxIndent}}})
	})
}

// value is any JSON value.
func (c *compiler) value() grammar.Expr {
	return c.share("value", func() grammar.Expr {
		return grammar.Alt{c.anyObject(), c.list(c.value(), 0, -1), c.string(), c.number(), grammar.Literal("true"), grammar.Literal("false"), grammar.Literal("null")}
	})
}

// anyObject is any JSON object.
func (c *compiler) anyObject() grammar.Expr {
	return c.share("object", func() grammar.Expr {
		pair := grammar.Seq{c.string(), grammar.Literal(":"), c.space(), c.value()}
		return grammar.Seq{grammar.Literal("{"), c.space(), grammar.Optional(grammar.Seq{pair, grammar.Any(grammar.Seq{grammar.Literal(","), c.space(), pair}), c.space()}), grammar.Literal("}")}
	})
}

// number is any number that common readers can hold.
func (c *compiler) number() grammar.Expr {
	return c.share("number", func() grammar.Expr {
		digit := grammar.Class{{Lo: '0', Hi: '9'}}
		sign := grammar.Class{{Lo: '+', Hi: '+'}, {Lo: '-', Hi: '-'}}
		return grammar.Seq{c.integer(), grammar.Optional(grammar.Seq{grammar.Literal("."), grammar.Repeat{Of: digit, Min: 1, Max: maxDigits}}),
			grammar.Optional(grammar.Seq{grammar.Class{{Lo: 'e', Hi: 'e'}, {Lo: 'E', Hi: 'E'}}, grammar.Optional(sign), grammar.Repeat{Of: digit, Min: 1, Max: 2}})}
	})
}

// integer is any integer of at most maxDigits digits.
func (c *compiler) integer() grammar.Expr {
	return c.share("integer", func() grammar.Expr {
		return grammar.Seq{grammar.Optional(grammar.Literal("-")), grammar.Alt{grammar.Literal("0"), grammar.Seq{grammar.Class{{Lo: '1', Hi: '9'}}, grammar.Repeat{Of: grammar.Class{{Lo: '0', Hi: '9'}}, Max: maxDigits - 1}}}}
	})
}

// Characters in a JSON string: those that stand for themselves, and all.
var (
	plain = grammar.Class{{Lo: ' ', Hi: '!'}, {Lo: '#', Hi: '['}, {Lo: ']', Hi: utf8.MaxRune}}
	hex   = grammar.Class{{Lo: '0', Hi: '9'}, {Lo: 'a', Hi: 'f'}, {Lo: 'A', Hi: 'F'}}
)

// char is a character in one of its spellings. Halves of pairs come together.
func char() grammar.Expr {
	oneOf := func(chars string) grammar.Class {
		var c grammar.Class
		for _, r := range chars {
			c = append(c, grammar.Range{Lo: r, Hi: r})
		}
		return c
	}
	d, second := oneOf("dD"), oneOf("cdefCDEF")
	return grammar.Alt{plain, grammar.Seq{grammar.Literal(`\`), grammar.Alt{oneOf(`"\/bfnrt`), grammar.Seq{grammar.Literal("u"), grammar.Alt{
		grammar.Seq{append(oneOf("abcefABCEF"), grammar.Range{Lo: '0', Hi: '9'}), grammar.Repeat{Of: hex, Min: 3, Max: 3}},
		grammar.Seq{d, grammar.Class{{Lo: '0', Hi: '7'}}, grammar.Repeat{Of: hex, Min: 2, Max: 2}},
		grammar.Seq{d, oneOf("89abAB"), grammar.Repeat{Of: hex, Min: 2, Max: 2}, grammar.Literal(`\u`), d, second, grammar.Repeat{Of: hex, Min: 2, Max: 2}},
	}}}}}
}

// string is any JSON string.
func (c *compiler) string() grammar.Expr {
	return c.share("string", func() grammar.Expr {
		return grammar.Seq{grammar.Literal(`"`), grammar.Any(char()), grammar.Literal(`"`)}
	})
}

// size reads a keyword that is a number of things; -1: it is not there.
func size(s *object, keyword, path string) (int, error) {
	if !s.has(keyword) {
		return -1, nil
	}
	n, ok := s.get(keyword).(json.Number)
	if ok {
		var r = new(int)
		if d, ok := decimal(n); ok && d.IsInt() && d.Sign() >= 0 && d.Num().IsInt64() {
			*r = int(min(d.Num().Int64(), maxSize+1))
			if *r <= maxSize {
				return *r, nil
			}
			if keyword[:3] == "max" { // no output is that long
				return -1, nil
			}
			return 0, &UnsupportedError{path, keyword, fmt.Sprintf("more than %d", maxSize)}
		}
	}
	return 0, fmt.Errorf("%s/%s: expected a whole number, 0 or more", path, keyword)
}

// maxSize is the greatest number of things that a keyword can ask for.
const maxSize = 1 << 14

// bounds reads two of them.
func bounds(s *object, least, most, path string) (from, to int, err error) {
	if from, err = size(s, least, path); err != nil {
		return 0, 0, err
	}
	to, err = size(s, most, path)
	if from = max(from, 0); err == nil && to >= 0 && to < from {
		err = fmt.Errorf("%s: %s is more than %s", path, least, most)
	}
	return from, to, err
}
