package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"mla/runtime/grammar"
)

// The pieces of formats.
const (
	date       = `(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	clock      = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`
	label      = `[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?`
	host       = label + `(\.` + label + `){0,5}`
	quad       = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	h16        = `[0-9a-f]{1,4}`
	ofTime     = `(\d{1,4}H(\d{1,4}M(\d{1,4}S)?)?|\d{1,4}M(\d{1,4}S)?|\d{1,4}S)`
	ofDate     = `(\d{1,4}Y(\d{1,4}M(\d{1,4}D)?)?|\d{1,4}M(\d{1,4}D)?|\d{1,4}D)`
	atoms      = `[A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30})?`
	uriPathEtc = `(:\d{1,4})?(/[A-Za-z0-9._~-]*)*(\?[A-Za-z0-9._~=&-]*)?(#[A-Za-z0-9._~-]*)?`
)

// formats are patterns of texts of formats; they need not have all of them.
var formats = map[string]string{
	"date":      `^` + date + `$`,
	"time":      `^` + clock + `$`,
	"date-time": `^` + date + `T` + clock + `$`,
	"duration":  `^P(\d{1,4}W|` + ofDate + `(T` + ofTime + `)?|T` + ofTime + `)$`,
	"email":     `^` + atoms + `@` + host + `$`,
	"hostname":  `^` + host + `$`,
	"ipv4":      `^(` + quad + `\.){3}` + quad + `$`,
	"ipv6":      `^((` + h16 + `:){7}` + h16 + `|(` + h16 + `:){1,6}:` + h16 + `|::(` + h16 + `:){0,5}` + h16 + `|::)$`,
	"uuid":      `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`,
	"uri":       `^https?://` + host + uriPathEtc + `$`,
}

func formatNames() string { return strings.Join(slices.Sorted(maps.Keys(formats)), ", ") }

// maxPattern is how long a pattern may be.
const maxPattern = 1 << 12

// pattern is the grammar of JSON strings in which a regular expression is found.
func (c *compiler) pattern(text string) (grammar.Expr, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("more than %d bytes", maxPattern)
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	e, err := c.found(re)
	if err != nil {
		return nil, err
	}
	return c.g.Add(text, c.quotes(e)), nil
}

// found is the texts that have a match somewhere, or where its anchors say.
func (c *compiler) found(re *syntax.Regexp) (grammar.Expr, error) {
	switch re.Op {
	case syntax.OpCapture:
		return c.found(re.Sub[0])
	case syntax.OpAlternate:
		var all grammar.Alt
		for _, sub := range re.Sub {
			e, err := c.found(sub)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		return all, nil
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	anything := grammar.Expr(grammar.Any(c.character(grammar.Class{{Lo: 0, Hi: unicode.MaxRune}})))
	var before, behind grammar.Expr = anything, anything
	for len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts, before = parts[1:], grammar.Seq{}
	}
	for len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
		parts, behind = parts[:len(parts)-1], grammar.Seq{}
	}
	list := grammar.Seq{before}
	for _, p := range parts {
		e, err := c.regular(p)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return append(list, behind), nil
}

// regular is a regular expression without anchors.
func (c *compiler) regular(re *syntax.Regexp) (grammar.Expr, error) {
	var subs []grammar.Expr
	for _, s := range re.Sub {
		e, err := c.regular(s)
		if err != nil {
			return nil, err
		}
		subs = append(subs, e)
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return nothing, nil
	case syntax.OpEmptyMatch:
		return grammar.Seq{}, nil
	case syntax.OpLiteral:
		var list grammar.Seq
		for _, r := range re.Rune {
			one := grammar.Class{{Lo: r, Hi: r}}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					one = append(one, grammar.Range{Lo: f, Hi: f})
				}
			}
			list = append(list, c.character(one))
		}
		return list, nil
	case syntax.OpCharClass:
		var class grammar.Class
		for i := 0; i < len(re.Rune); i += 2 {
			class = append(class, grammar.Range{Lo: re.Rune[i], Hi: re.Rune[i+1]})
		}
		return c.character(class), nil
	case syntax.OpAnyCharNotNL: // JavaScript's point is no line break of any kind
		return c.character(grammar.Class{{Lo: '\n', Hi: '\n'}, {Lo: '\r', Hi: '\r'}, {Lo: 0x2028, Hi: 0x2029}}.Not()), nil
	case syntax.OpAnyChar:
		return c.character(grammar.Class{{Lo: 0, Hi: unicode.MaxRune}}), nil
	case syntax.OpCapture:
		return subs[0], nil
	case syntax.OpStar:
		return grammar.Any(subs[0]), nil
	case syntax.OpPlus:
		return grammar.Repeat{Of: subs[0], Min: 1, Max: -1}, nil
	case syntax.OpQuest:
		return grammar.Optional(subs[0]), nil
	case syntax.OpRepeat:
		return grammar.Repeat{Of: subs[0], Min: re.Min, Max: re.Max}, nil
	case syntax.OpConcat:
		return grammar.Seq(subs), nil
	case syntax.OpAlternate:
		return grammar.Alt(subs), nil
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return nil, errors.New("^ and $ are supported at the beginning and the end only")
	}
	return nil, fmt.Errorf("%s is not supported", re)
}

// character is one of a class as it stands in a JSON string, or without quotes.
func (c *compiler) character(class grammar.Class) grammar.Expr {
	if c.bare != nil {
		return both(class, c.bare)
	}
	all := grammar.Alt{both(class, plain)}
	for _, r := range both(class, plain.Not()) {
		for char := r.Lo; char <= r.Hi; char++ {
			all = append(all, grammar.Literal(escape(char)))
		}
	}
	return all
}
