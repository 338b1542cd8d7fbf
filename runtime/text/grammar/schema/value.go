package schema

import (
	"slices"
	"unicode/utf8"

	"mla/runtime/text/grammar"
)

// maxIndent is the most blanks and tabs after a line break.
const maxIndent = 40

// space is optional: a blank, or a line break with its indent.
func (c *compiler) space() grammar.Expr {
	return c.share("space", func() grammar.Expr {
		return grammar.Optional(grammar.Alt{grammar.Literal(" "), grammar.Seq{grammar.Literal("\n"), grammar.Repeat{Of: grammar.Class{{Lo: ' ', Hi: ' '}, {Lo: '\t', Hi: '\t'}}, Max: maxIndent}}})
	})
}

// value is any JSON value.
func (c *compiler) value() grammar.Expr {
	return c.share("value", func() grammar.Expr {
		return grammar.Alt{c.anyObject(), c.anyList(), c.string(), c.number(), grammar.Literal("true"), grammar.Literal("false"), grammar.Literal("null")}
	})
}

// anyList is any JSON array.
func (c *compiler) anyList() grammar.Expr {
	return c.share("array", func() grammar.Expr {
		more := grammar.Any(grammar.Seq{grammar.Literal(","), c.space(), c.value()})
		return grammar.Seq{grammar.Literal("["), c.space(), grammar.Optional(grammar.Seq{c.value(), more, c.space()}), grammar.Literal("]")}
	})
}

// anyObject is any JSON object.
func (c *compiler) anyObject() grammar.Expr {
	return c.share("object", func() grammar.Expr {
		pair := grammar.Seq{c.string(), grammar.Literal(":"), c.space(), c.value()}
		return grammar.Seq{grammar.Literal("{"), c.space(), grammar.Optional(grammar.Seq{pair, grammar.Any(grammar.Seq{grammar.Literal(","), c.space(), pair}), c.space()}), grammar.Literal("}")}
	})
}

// number is any number in the range of common parsers.
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

// Characters in a JSON string: those that need no escape, and all.
var (
	plain = grammar.Class{{Lo: ' ', Hi: '!'}, {Lo: '#', Hi: '['}, {Lo: ']', Hi: utf8.MaxRune}}
	hex   = grammar.Class{{Lo: '0', Hi: '9'}, {Lo: 'a', Hi: 'f'}, {Lo: 'A', Hi: 'F'}}
)

// char is a character in any of its JSON forms. The halves of surrogate pairs come together.
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

// minus is the characters of a class that are not in another.
func minus(c, without grammar.Class) grammar.Class {
	return grammar.Class(append(slices.Clone(c.Not()), without...)).Not()
}

// both is the intersection of two classes.
func both(a, b grammar.Class) grammar.Class { return minus(a, b.Not()) }

// character is a character of a class as it is written in a JSON string, or without quotes if bare.
func character(class, bare grammar.Class) grammar.Expr {
	if bare != nil {
		return both(class, bare)
	}
	all := grammar.Alt{both(class, plain)}
	for _, r := range both(class, plain.Not()) {
		for char := r.Lo; char <= r.Hi; char++ {
			all = append(all, grammar.Literal(escape(char)))
		}
	}
	return all
}
