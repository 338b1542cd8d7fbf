package schema

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/pattern"
)

// texts is a constraint on strings: a list of words, or a language with a range of lengths.
type texts struct {
	pattern.Language
	least   int // least number of characters
	over    int // exclusive upper bound; 0: none
	words   []string
	isWords bool
}

var (
	anyText = texts{Language: pattern.All}
	noText  = texts{Language: pattern.Never}
)

func (t *texts) none() bool {
	return t.isWords && len(t.words) == 0 || !t.isWords && (t.Language == pattern.Never || t.over > 0 && t.over <= t.least)
}
func (t *texts) limited() bool { return t.least > 0 || t.over > 0 }
func (t *texts) all() bool     { return !t.isWords && t.Language == pattern.All && !t.limited() }

// languageOf is the language of a constraint, with its lengths.
func (c *compiler) languageOf(t texts) (pattern.Language, error) {
	if t.isWords {
		var list []pattern.Language
		for _, w := range t.words {
			list = append(list, pattern.Text(w))
		}
		return pattern.Or(list...), nil
	}
	if !t.limited() {
		return t.Language, nil
	}
	n, err := c.Length(t.least, t.over-1)
	return pattern.And(t.Language, n), err
}

func (c *compiler) notTexts(t texts) (texts, error) {
	n, err := c.languageOf(t)
	if err != nil {
		return t, err
	}
	return texts{Language: pattern.Not(n)}, nil
}

func (c *compiler) joinTexts(a, b texts) (texts, error) {
	switch {
	case a.none() || b.all():
		return b, nil
	case b.none() || a.all():
		return a, nil
	case a.isWords && b.isWords:
		words := slices.Clone(a.words)
		for _, w := range b.words {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		return texts{words: words, isWords: true}, c.Spend(len(words))
	}
	x, err := c.languageOf(a)
	if err != nil {
		return a, err
	}
	y, err := c.languageOf(b)
	return texts{Language: pattern.Or(x, y)}, err
}

func (c *compiler) meetTexts(a, b texts) (texts, error) {
	if b.isWords && !a.isWords {
		a, b = b, a
	}
	switch {
	case a.all() || b.none():
		return b, nil
	case b.all() || a.none():
		return a, nil
	case !a.isWords:
		out := texts{Language: pattern.And(a.Language, b.Language), least: max(a.least, b.least), over: a.over}
		if a.over == 0 || b.over > 0 && b.over < a.over {
			out.over = b.over
		}
		return out, nil
	}
	out := texts{isWords: true}
	for _, w := range a.words {
		ok := slices.Contains(b.words, w)
		if n := utf8.RuneCountInString(w); !b.isWords && n >= b.least && (b.over == 0 || n < b.over) {
			var err error
			if ok, err = c.Matches(b.Language, w); err != nil {
				return out, err
			}
		}
		if ok {
			out.words = append(out.words, w)
		}
	}
	return out, nil
}

// strings is the constraint of a schema's keywords on strings.
func (c *compiler) strings(s *object, path string, exact bool) (texts, error) {
	t := anyText
	least, most, err := bounds(s, "minLength", "maxLength", path)
	if err != nil || !c.texts {
		return t, err
	}
	t.least, t.over = least, most+1
	if s.has("pattern") {
		text, ok := s.get("pattern").(string)
		if !ok || !utf8.ValidString(text) {
			return t, fmt.Errorf("%s/pattern: expected a text", path)
		}
		n, err := c.Parse(text)
		if err == nil && !t.limited() {
			_, err = c.Automaton(n) // if this is too large, so is every use of it
		}
		if err == nil {
			t.Language = n
		} else if err := c.failed(err, path, "pattern"); err != nil {
			return t, err
		}
	}
	name, _ := s.get("format").(string)
	if formats[name] == "" {
		return t, nil
	}
	if exact {
		return t, &UnsupportedError{path, "format", "within not, if or oneOf: the grammar has only some texts of a format"}
	}
	n, err := c.Parse(formats[name])
	t.Language = pattern.And(t.Language, n)
	return t, err
}

// failed is the error of a keyword; nil if the keyword is to have no effect.
func (c *compiler) failed(err error, path, keyword string) error {
	if c.ctx.Err() != nil || c.Spent() {
		return err
	}
	return c.unsupported(path, keyword, "%v", err)
}

// stringOf is the grammar of quoted texts, or of texts without quotes if they consist of bare characters.
func (c *compiler) stringOf(t texts, bare grammar.Class) (grammar.Expr, error) {
	var e grammar.Expr
	switch {
	case t.all() && bare == nil:
		return c.string(), nil
	case t.all():
		return grammar.Any(bare), nil
	case t.isWords:
		var all grammar.Alt
		for _, w := range t.words {
			if bare != nil {
				all = append(all, grammar.Literal(w))
			} else {
				all = append(all, grammar.Literal(quote(w)))
			}
		}
		return all, nil
	case t.Language == pattern.All:
		one := grammar.Expr(bare)
		if bare == nil {
			one = grammar.Alt{plain, grammar.Seq{grammar.Literal(`\`), shortEscapes}}
		}
		e = c.times(one, t.least, t.over-1)
	default:
		n, err := c.languageOf(t)
		if err != nil {
			return nil, err
		}
		a, err := c.Automaton(n)
		if err != nil {
			return nil, err
		}
		e = graph(a, bare)
	}
	if bare != nil {
		return e, nil
	}
	return grammar.Seq{grammar.Literal(`"`), e, grammar.Literal(`"`)}, nil
}

// graph is the grammar of an automaton's texts as they are written in a JSON string.
func graph(a pattern.Automaton, bare grammar.Class) grammar.Expr {
	out := make(grammar.Graph, len(a))
	for i, state := range a {
		out[i].Accept = state.Accept
		for _, e := range state.Edges {
			out[i].Edges = append(out[i].Edges, grammar.GraphEdge{By: character(e.By, bare), To: e.To})
		}
	}
	return out
}

// shortEscapes is characters after a backslash that each stand for one character.
var shortEscapes = grammar.Class{{Lo: '"', Hi: '"'}, {Lo: '/', Hi: '/'}, {Lo: '\\', Hi: '\\'}, {Lo: 'b', Hi: 'b'}, {Lo: 'f', Hi: 'f'}, {Lo: 'n', Hi: 'n'}, {Lo: 'r', Hi: 'r'}, {Lo: 't', Hi: 't'}}

// block is the number of repetitions in a rule of its own, where there are many.
const block = 32

// times is an expression repeated least to most times; most < 0: no upper bound. Many repetitions become
// rules of blocks, so the number of states is logarithmic.
func (c *compiler) times(e grammar.Expr, least, most int) grammar.Expr {
	if least <= 4*block && most <= 8*block {
		return grammar.Repeat{Of: e, Min: least, Max: most}
	}
	if most < 0 {
		return grammar.Seq{c.exactly(e, least), grammar.Any(e)}
	}
	return grammar.Seq{c.exactly(e, least), c.upTo(e, most-least)}
}

// exactly is an expression repeated n times.
func (c *compiler) exactly(e grammar.Expr, n int) grammar.Expr {
	if n <= 4*block {
		return grammar.Repeat{Of: e, Min: n, Max: n}
	}
	many := c.g.Add("a block", grammar.Repeat{Of: e, Min: block, Max: block})
	return grammar.Seq{c.exactly(many, n/block), grammar.Repeat{Of: e, Min: n % block, Max: n % block}}
}

// upTo is an expression repeated at most n times.
func (c *compiler) upTo(e grammar.Expr, n int) grammar.Expr {
	if n <= 4*block {
		return grammar.Repeat{Of: e, Min: 0, Max: n}
	}
	many := c.g.Add("a block", grammar.Repeat{Of: e, Min: block, Max: block})
	return grammar.Alt{
		grammar.Seq{c.upTo(many, n/block-1), grammar.Repeat{Of: e, Min: 0, Max: block - 1}},
		grammar.Seq{c.exactly(many, n/block), grammar.Repeat{Of: e, Min: 0, Max: n % block}},
	}
}
