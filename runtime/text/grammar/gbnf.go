package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on a grammar's text.
const (
	maxSource  = 1 << 20
	maxNesting = 200     // of parentheses
	maxTimes   = 1 << 16 // of a repetition
	maxTokenID = 1<<24 - 1
)

// ParseGBNF parses a grammar in llama.cpp's notation, GBNF. The text begins with the rule root. Names in
// angle brackets are control tokens: <|end|>; <[7]> is token 7, and !<|end|> any token but that one. Errors
// have the line and column.
func ParseGBNF(source string) (*Grammar, error) {
	if len(source) > maxSource {
		return nil, fail("the grammar has %d bytes; at most %d are possible", len(source), maxSource)
	}
	if !utf8.ValidString(source) {
		return nil, fail("the grammar is not UTF-8")
	}
	p := &gbnf{source: source, rules: map[string]Ref{}, used: map[string]int{}}
	p.grammar.Add("root", nil)
	p.rules["root"] = 0
	for p.space(true); p.at < len(source) && p.err == nil; p.space(true) {
		p.rule()
	}
	if p.err != nil {
		return nil, p.err
	}
	for i, r := range p.grammar.Rules {
		if r.Expr != nil {
			continue
		}
		if i == 0 {
			return nil, fail("1:1: the rule root is not there, with which a text begins")
		}
		p.at = p.used[r.Name]
		return nil, p.fail("the rule %s is not there", r.Name)
	}
	return &p.grammar, nil
}

// gbnf is the parser. After an error it continues without effect.
type gbnf struct {
	source  string
	at      int
	depth   int
	grammar Grammar
	rules   map[string]Ref
	used    map[string]int // where a rule is used first
	err     error
}

// fail records the first error, at the current position, and skips to the end.
func (p *gbnf) fail(format string, args ...any) error {
	if p.err == nil {
		before := p.source[:p.at]
		line := 1 + strings.Count(before, "\n")
		column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		p.err = fail("%d:%d: %s", line, column, fmt.Sprintf(format, args...))
	}
	p.at = len(p.source)
	return p.err
}

// peek is the next byte; 0 at the end.
func (p *gbnf) peek() byte {
	if p.at < len(p.source) {
		return p.source[p.at]
	}
	return 0
}

// take consumes a text, if it is next.
func (p *gbnf) take(text string) bool {
	if strings.HasPrefix(p.source[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

// space skips blanks and comments, and line breaks if these are insignificant.
func (p *gbnf) space(lines bool) {
	for p.at < len(p.source) {
		switch c := p.peek(); {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			if n := strings.IndexAny(p.source[p.at:], "\r\n"); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.source)
			}
		default:
			return
		}
	}
}

// name parses the name of a rule.
func (p *gbnf) name() string {
	rest := p.source[p.at:]
	n := strings.IndexFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if n < 0 {
		n = len(rest)
	}
	if n == 0 {
		p.fail("expected the name of a rule")
		return ""
	}
	p.at += n
	return rest[:n]
}

// ref is the rule with a name.
func (p *gbnf) ref(name string, at int) Ref {
	r, ok := p.rules[name]
	if !ok {
		r = p.grammar.Add(name, nil)
		p.rules[name], p.used[name] = r, at
	}
	return r
}

// rule parses a rule: name ::= alternatives.
func (p *gbnf) rule() {
	start := p.at
	r := p.ref(p.name(), start)
	if p.err == nil && p.grammar.Rules[r].Expr != nil {
		p.at = start
		p.fail("the rule %s is there twice", p.grammar.Rules[r].Name)
	}
	if p.space(false); !p.take("::=") {
		p.fail("expected ::=")
	}
	p.space(true)
	p.grammar.Rules[r].Expr = p.alternatives(false)
	if p.err == nil && p.at < len(p.source) && p.peek() != '\n' && p.peek() != '\r' {
		p.fail("expected the end of the line")
	}
}

// alternatives parses sequences separated by |; if nested, line breaks are insignificant.
func (p *gbnf) alternatives(nested bool) Expr {
	list := Alt{p.sequence(nested)}
	for p.take("|") {
		p.space(true)
		list = append(list, p.sequence(nested))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (p *gbnf) sequence(nested bool) Expr {
	list := Seq{}
	for p.err == nil {
		start := p.at
		e := p.item()
		if e == nil {
			break
		}
		list = append(list, p.repeated(e, start))
		p.space(nested)
	}
	return list
}

// item parses an operand of a repetition; nil: there is none.
func (p *gbnf) item() Expr {
	start := p.at
	switch c := p.peek(); {
	case c == '"':
		return p.quoted()
	case c == '[':
		return p.class()
	case c == '.':
		p.at++
		return Class{{0, utf8.MaxRune}}
	case c == '<' || c == '!':
		return p.token()
	case c == '(':
		p.at++
		if p.depth++; p.depth > maxNesting {
			p.fail("more than %d parentheses within each other", maxNesting)
			return nil
		}
		p.space(true)
		e := p.alternatives(true)
		if p.depth--; !p.take(")") {
			p.fail("expected )")
		}
		return e
	case c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return p.ref(p.name(), start)
	}
	return nil
}

// token parses a token: <name> for a control token, <[number]>, or either after ! for any other token.
func (p *gbnf) token() Expr {
	t := OneToken{Not: p.take("!")}
	p.space(false)
	start := p.at
	if p.take("<[") {
		t.ID = int32(p.number(maxTokenID, "more than the token %d"))
		if !p.take("]>") {
			p.fail("expected the number of a token, <[number]>")
		}
		return t
	}
	rest := p.source[p.at:]
	end := strings.IndexByte(rest, '>')
	if p.peek() != '<' || end < 2 || strings.ContainsAny(rest[:end], "\r\n[ ") {
		p.fail("expected a token: the name of a control token, <name>, or a number, <[number]>")
		return nil
	}
	p.at += end + 1
	t.Name = p.source[start:p.at]
	return t
}

// repeated parses the repetition of an item.
func (p *gbnf) repeated(e Expr, start int) Expr {
	for n := 0; p.err == nil; n++ {
		if n > maxNesting {
			p.fail("more than %d repetitions of one item", maxNesting)
		}
		switch {
		case p.take("*"):
			e = Repeat{e, 0, -1}
		case p.take("+"):
			e = Repeat{e, 1, -1}
		case p.take("?"):
			e = Repeat{e, 0, 1}
		case p.take("{"):
			e = p.times(e)
		default:
			return e
		}
	}
	return e
}

// times parses {n}, {n,} or {n,m}.
func (p *gbnf) times(e Expr) Expr {
	r := Repeat{Of: e}
	p.space(false)
	r.Min = p.number(maxTimes, "more than %d times")
	p.space(false)
	switch r.Max = r.Min; {
	case p.take(","):
		p.space(false)
		if r.Max = -1; p.peek() != '}' {
			r.Max = p.number(maxTimes, "more than %d times")
		}
		p.space(false)
	}
	if p.err == nil && r.Max >= 0 && r.Max < r.Min {
		p.fail("at least %d times and at most %d", r.Min, r.Max)
	}
	if !p.take("}") {
		p.fail("expected }")
	}
	return r
}

func (p *gbnf) number(most int, message string) int {
	n, start := 0, p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		if n = 10*n + int(c-'0'); n > most {
			p.fail(message, most)
			return 0
		}
		p.at++
	}
	if p.at == start {
		p.fail("expected a number")
	}
	return n
}

// quoted parses a quoted text.
func (p *gbnf) quoted() Expr {
	p.at++
	var text []byte
	for p.err == nil {
		switch p.peek() {
		case '"':
			p.at++
			return Literal(text)
		case 0, '\n', '\r':
			p.fail("the text has no closing quote")
		default:
			text = utf8.AppendRune(text, p.char())
		}
	}
	return nil
}

// class parses a bracket expression.
func (p *gbnf) class() Expr {
	p.at++
	not := p.take("^")
	var c Class
	for p.err == nil {
		switch p.peek() {
		case ']':
			p.at++
			if not {
				return c.Not()
			}
			return c
		case 0, '\n', '\r':
			p.fail("the class has no closing bracket")
			continue
		}
		r := Range{Lo: p.char()}
		r.Hi = r.Lo
		if rest := p.source[p.at:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.at++
			if r.Hi = p.char(); p.err == nil && r.Hi < r.Lo {
				p.fail("a range that ends before it begins")
			}
		}
		c = append(c, r)
	}
	return nil
}

// escapes is the characters after a backslash.
var escapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '"': '"', '[': '[', ']': ']', '-': '-', '^': '^', '/': '/', '.': '.'}

// digits is the number of hexadecimal digits after each escape letter.
var digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// char parses a character, which may be escaped.
func (p *gbnf) char() rune {
	if p.peek() != '\\' {
		r, n := utf8.DecodeRuneInString(p.source[p.at:])
		p.at += n
		return r
	}
	p.at++
	c := p.peek()
	if r, ok := escapes[c]; ok {
		p.at++
		return r
	}
	n, ok := digits[c]
	if !ok {
		p.fail("an unknown escape")
		return 0
	}
	p.at++
	var r uint32
	for range n {
		d := strings.IndexByte("0123456789abcdef", p.peek()|0x20)
		if d < 0 || p.peek() == 0 {
			p.fail("expected %d hexadecimal digits", n)
			return 0
		}
		r = r<<4 | uint32(d)
		p.at++
	}
	if !utf8.ValidRune(rune(r)) || r > utf8.MaxRune {
		p.fail("no character has the number %x", r)
		return 0
	}
	return rune(r)
}
