package ptx

import (
	"strings"
	"unicode/utf8"
)

// token is a piece of Metal source. The pieces of a source, blanks included,
// are the source when put together again.
type token struct {
	text  string
	blank bool // white space, a comment or a preprocessor line
	line  int
}

// scan cuts source into tokens.
func scan(source string) []token {
	tokens := make([]token, 0, len(source)/3) // what kernels have
	line := 1
	for source != "" {
		n := blankLen(source)
		blank := n > 0
		if !blank {
			n = wordLen(source)
		}
		tokens = append(tokens, token{source[:n], blank, line})
		line += strings.Count(source[:n], "\n")
		source = source[n:]
	}
	return tokens
}

// blankLen is the length of the white space, the comment or the preprocessor line that s
// begins with; 0: there is none.
func blankLen(s string) int {
	switch {
	case isSpace(s[0]):
		return span(s, 0, isSpace)
	case strings.HasPrefix(s, "//"):
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			return end
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		if end := strings.Index(s[2:], "*/"); end >= 0 {
			return end + 4
		}
	case s[0] == '#':
		return escapedLen(s, '\n')
	}
	return 0
}

// wordLen is the length of what else s begins with: a string, a name, a number, a sign.
func wordLen(s string) int {
	switch {
	case s[0] == '"':
		if n := escapedLen(s, '"'); n < len(s) && s[n] == '"' {
			return n + 1
		}
	case isDigit(s[0]), s[0] == '.' && len(s) > 1 && isDigit(s[1]):
		return numberLen(s)
	case isWord(s[0]):
		return span(s, 0, isWord)
	case strings.HasPrefix(s, "[["), strings.HasPrefix(s, "]]"), strings.HasPrefix(s, "::"):
		return 2
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// escapedLen is where the first end after the first byte stands that has no backslash in front.
// A backslash at the end of s does not count.
func escapedLen(s string, end byte) int {
	i := 1
	for i < len(s) && s[i] != end {
		if s[i] != '\\' {
			i++
			continue
		}
		if i+1 == len(s) {
			return i
		}
		_, n := utf8.DecodeRuneInString(s[i+1:])
		i += 1 + n
	}
	return i
}

// numberLen is the length of a number with its suffix. A sign belongs to it after the letter
// of an exponent, in front of a digit.
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

// span is where the bytes from i on end that are of a kind.
func span(s string, i int, is func(c byte) bool) int {
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\f\r", c) >= 0 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
