package jinja

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of tokens. The kind of an operator is its text.
const (
	tokData     = "text"
	tokVarBegin = "{{"
	tokVarEnd   = "}}"
	tokTagBegin = "{%"
	tokTagEnd   = "%}"
	tokName     = "a name"
	tokString   = "a string"
	tokInteger  = "an integer"
	tokFloat    = "a float"
	tokEnd      = "the end of the template"
)

type token struct {
	kind string
	text string // of data, names and strings
	num  Value
	line int
}

// operators lists the operators; an operator comes before its own prefixes.
var operators = []string{
	"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";",
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

var (
	rawBegin = regexp.MustCompile(`^\{%[-+]?[\s\x{a0}\x{3000}]*raw[\s\x{a0}\x{3000}]*(-?)%\}`)
	rawEnd   = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
	floats   = regexp.MustCompile(`^(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)`)
	integers = regexp.MustCompile(`^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*)`)
	quoted   = regexp.MustCompile(`(?s)^(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)
)

// lexer cuts a template into tokens.
type lexer struct {
	source string
	pos    int
	line   int
	tokens []token
}

// lex returns the tokens of a template, the last of which is tokEnd.
func lex(source string) []token {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	l := &lexer{source: strings.TrimSuffix(source, "\n"), line: 1}
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(*Error); ok && e.Line == 0 {
				e.Line = l.line
			}
			panic(p)
		}
	}()
	for l.pos < len(l.source) {
		l.text()
	}
	l.add(tokEnd, "")
	return l.tokens
}

func (l *lexer) add(kind, text string) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, line: l.line})
}

// skip advances by n bytes.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.source[l.pos:l.pos+n], "\n")
	l.pos += n
}

func (l *lexer) rest() string { return l.source[l.pos:] }

// text reads up to the next tag, and the tag.
func (l *lexer) text() {
	at := -1
	for i := l.pos; i+1 < len(l.source); i++ {
		if l.source[i] == '{' && strings.IndexByte("{%#", l.source[i+1]) >= 0 {
			at = i
			break
		}
	}
	if at < 0 {
		l.data(l.rest(), len(l.rest()))
		return
	}
	opener := l.source[at : at+2]
	sign := byte(0)
	if at+2 < len(l.source) {
		sign = l.source[at+2]
	}
	l.data(l.stripped(l.source[l.pos:at], sign, opener != tokVarBegin), at-l.pos)
	switch m := rawBegin.FindStringSubmatch(l.rest()); {
	case m != nil:
		l.skip(len(m[0]))
		if m[1] != "" {
			l.skipSpace()
		}
		l.raw()
	case opener == "{#":
		l.comment()
	default:
		l.tag(opener, sign)
	}
}

// data adds a text that took size bytes of the source.
func (l *lexer) data(text string, size int) {
	if text != "" {
		l.add(tokData, text)
	}
	l.skip(size)
}

// stripped is the text before a tag without the white space that the tag removes: all of it with a minus
// sign, and for a block tag without a plus sign that of the tag's own line.
func (l *lexer) stripped(text string, sign byte, block bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(text, isSpace)
	case sign == '+' || !block:
		return text
	}
	from := strings.LastIndexByte(text, '\n') + 1
	lineBegins := from > 0 || l.pos == 0 || l.source[l.pos-1] == '\n'
	if lineBegins && strings.TrimLeftFunc(text[from:], isSpace) == "" {
		return text[:from]
	}
	return text
}

// after skips the white space that a tag with this sign removes after itself.
func (l *lexer) after(sign string) {
	switch {
	case sign == "-":
		l.skipSpace()
	case sign == "" && strings.HasPrefix(l.rest(), "\n"):
		l.skip(1)
	}
}

func (l *lexer) skipSpace() {
	l.skip(len(l.rest()) - len(strings.TrimLeftFunc(l.rest(), isSpace)))
}

func (l *lexer) comment() {
	from := len("{#")
	if strings.HasPrefix(l.rest()[from:], "-") || strings.HasPrefix(l.rest()[from:], "+") {
		from++
	}
	text, _, found := strings.Cut(l.rest()[from:], "#}")
	if !found {
		fail("a comment has no end; expected #}")
	}
	sign := ""
	if strings.HasSuffix(text, "-") || strings.HasSuffix(text, "+") {
		sign = text[len(text)-1:]
	}
	l.skip(from + len(text) + len("#}"))
	l.after(sign)
}

func (l *lexer) raw() {
	m := rawEnd.FindStringSubmatchIndex(l.rest())
	if m == nil {
		fail("a raw block has no end; expected {%% endraw %%}")
	}
	rest := l.rest()
	sign := byte(0)
	if m[2] < m[3] {
		sign = rest[m[2]]
	}
	l.data(l.stripped(rest[:m[0]], sign, true), m[1])
	l.after(rest[m[4]:m[5]])
}

// tag reads the tokens of one {{ }} or {% %}.
func (l *lexer) tag(opener string, sign byte) {
	l.add(opener, "")
	l.skip(2)
	if sign == '-' || sign == '+' {
		l.skip(1)
	}
	end := map[string]string{tokVarBegin: tokVarEnd, tokTagBegin: tokTagEnd}[opener]
	var open []string
	for {
		l.skipSpace()
		rest := l.rest()
		if len(open) == 0 && l.closes(rest, end) {
			return
		}
		if rest == "" {
			fail("a tag has no end; expected %s", end)
		}
		if !l.literal(rest) {
			open = l.operator(rest, open)
		}
	}
}

// closes parses the end of a tag.
func (l *lexer) closes(rest, end string) bool {
	sign := ""
	if strings.HasPrefix(rest, "-"+end) || end == tokTagEnd && strings.HasPrefix(rest, "+"+end) {
		sign = rest[:1]
	}
	if !strings.HasPrefix(rest[len(sign):], end) {
		return false
	}
	l.add(end, "")
	l.skip(len(sign) + len(end))
	if end == tokTagEnd || sign == "-" {
		l.after(sign)
	}
	return true
}

// literal reads a number, a name or a string.
func (l *lexer) literal(rest string) bool {
	if m := floats.FindString(rest); m != "" && l.source[l.pos-1] != '.' {
		x, err := strconv.ParseFloat(strings.ReplaceAll(m, "_", ""), 64)
		if x == 0 && err != nil {
			fail("%s: %v", m, err)
		}
		l.number(tokFloat, x, m)
		return true
	}
	if m := integers.FindString(rest); m != "" {
		n, ok := new(big.Int).SetString(strings.ReplaceAll(m, "_", ""), 0)
		if strings.Trim(m, "0_") == "" {
			n, ok = new(big.Int), true
		}
		if !ok || n.BitLen() > maxIntBits {
			fail("%.30s…: more than %d bits", m, maxIntBits)
		}
		l.number(tokInteger, whole(n), m)
		return true
	}
	if n := len(rest) - len(strings.TrimLeftFunc(rest, isWord)); n > 0 {
		if first, _ := utf8.DecodeRuneInString(rest); unicode.IsNumber(first) {
			fail("%.30q is no name", rest[:n])
		}
		l.add(tokName, rest[:n])
		l.skip(n)
		return true
	}
	if m := quoted.FindString(rest); m != "" {
		l.add(tokString, unescape(m[1:len(m)-1]))
		l.skip(len(m))
		return true
	}
	return false
}

func (l *lexer) number(kind string, v Value, text string) {
	l.tokens = append(l.tokens, token{kind: kind, text: text, num: v, line: l.line})
	l.skip(len(text))
}

// operator parses an operator, and updates the list of open brackets.
func (l *lexer) operator(rest string, open []string) []string {
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch op {
		case "(", "[", "{":
			open = append(open, closing[op])
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != op {
				fail("unexpected %q", op)
			}
			open = open[:len(open)-1]
		}
		l.add(op, "")
		l.skip(len(op))
		return open
	}
	c, _ := utf8.DecodeRuneInString(rest)
	fail("unexpected character %q", c)
	return nil
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F }

// isWord is \w of Python's regular expressions.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// plainEscapes is the one-character escapes in strings.
var plainEscapes = map[byte]string{
	'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// hexEscapes is the escapes with a number, and its number of digits.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape decodes the escapes of a string literal as Python does.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			i++
			continue
		}
		c := text[i+1]
		plain, isPlain := plainEscapes[c]
		switch n := hexEscapes[c]; {
		case isPlain:
			out.WriteString(plain)
			i += 2
		case n > 0:
			code, err := strconv.ParseUint(text[i+2:min(i+2+n, len(text))], 16, 32)
			if i+2+n > len(text) || err != nil || code > unicode.MaxRune {
				fail("a string has the escape \\%c without %d digits of a character", c, n)
			}
			out.WriteRune(rune(code))
			i += 2 + n
		case '0' <= c && c <= '7':
			size := 1
			for size < 3 && i+1+size < len(text) && '0' <= text[i+1+size] && text[i+1+size] <= '7' {
				size++
			}
			code, _ := strconv.ParseUint(text[i+1:i+1+size], 8, 32)
			out.WriteRune(rune(code))
			i += 1 + size
		case c == 'N':
			fail("characters by their names (\\N) are not supported")
		default:
			out.WriteByte('\\')
			i++
		}
	}
	return out.String()
}
