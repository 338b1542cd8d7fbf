// Package text splits Metal source into tokens. It is the only scanner of Metal source in this project:
// packages that mark declarations, check the rules of the language, translate kernels, or mutate them, use
// it.
package text

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds. A compiler's grammar does not see the kinds before Word.
const (
	Space     Kind = iota // white space
	Comment               // a line comment without the line end, or a block comment
	Directive             // of the preprocessor, with continuation lines
	Word                  // a name
	Number                // with its suffix, without a sign
	String                // with its quotes
	Symbol                // one character
)

// Token is a piece of Metal source.
type Token struct {
	Text  string
	Kind  Kind
	Begin int  // offset in the source
	Line  int  // line where it begins, from 1
	First bool // it is the first token of its line
}

// End returns the offset after the token.
func (t *Token) End() int { return t.Begin + len(t.Text) }

// Blank reports whether the token is white space, a comment or a directive.
func (t *Token) Blank() bool { return t.Kind < Word }

// Scan splits source into tokens, whose texts in order are the source.
func Scan(source string) []Token {
	tokens := make([]Token, 0, len(source)/3) // kernels have about three bytes per token
	line := 1
	for at := 0; at < len(source); {
		kind, n := lexeme(source[at:])
		t := Token{source[at : at+n], kind, at, line, at == 0 || source[at-1] == '\n'}
		tokens = append(tokens, t)
		line += strings.Count(t.Text, "\n")
		at += n
	}
	return tokens
}

// Code returns the words, numbers and symbols of source.
func Code(source string) []Token {
	var code []Token
	for _, t := range Scan(source) {
		if !t.Blank() && t.Kind != String {
			code = append(code, t)
		}
	}
	return code
}

// Join merges adjacent tokens for which are returns true, from left to right.
func Join(tokens []Token, are func(left, right *Token) bool) []Token {
	var joined []Token
	for _, t := range tokens {
		if n := len(joined); n > 0 && joined[n-1].End() == t.Begin && are(&joined[n-1], &t) {
			joined[n-1].Text += t.Text
			continue
		}
		joined = append(joined, t)
	}
	return joined
}

// lexeme returns the kind and the length of the token at the beginning of s.
func lexeme(s string) (Kind, int) {
	switch {
	case isSpace(s[0]):
		return Space, span(s, isSpace)
	case strings.HasPrefix(s, "//"):
		return Comment, lineLen(s)
	case strings.HasPrefix(s, "/*"):
		if end := strings.Index(s[2:], "*/"); end >= 0 {
			return Comment, end + 4
		}
	case s[0] == '#':
		n := lineLen(s)
		for n < len(s) && s[n-1] == '\\' { // a continuation line
			n += 1 + lineLen(s[n+1:])
		}
		return Directive, n
	case s[0] == '"':
		if n := stringLen(s); n > 0 {
			return String, n
		}
	case isDigit(s[0]), s[0] == '.' && len(s) > 1 && isDigit(s[1]):
		return Number, numberLen(s)
	case isWord(s[0]):
		return Word, span(s, isWord)
	}
	_, n := utf8.DecodeRuneInString(s)
	return Symbol, n
}

// lineLen is the length of the first line without its end.
func lineLen(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// stringLen returns the length of the string literal at the beginning of s, 0 if it does not end.
func stringLen(s string) int {
	for n := 1; n < len(s); n++ {
		switch s[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return 0
}

// numberLen returns the length of a number with its suffix. A sign belongs to the number if it stands between
// the letter of an exponent and a digit.
func numberLen(s string) int {
	exponent, i := "eE", 1
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		exponent, i = "pP", 2
	}
	for i < len(s) {
		switch {
		case strings.IndexByte(exponent, s[i]) >= 0 && i+2 < len(s) && (s[i+1] == '+' || s[i+1] == '-') && isDigit(s[i+2]):
			i += 3
		case s[i] == '.' || isWord(s[i]):
			i++
		default:
			return i
		}
	}
	return i
}

// span returns how many bytes at the beginning of s satisfy is.
func span(s string, is func(c byte) bool) int {
	i := 0
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\f\r", c) >= 0 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
