package pieces

import (
	"regexp"
	"strings"
)

// compactor removes text that the compiler does not need: comments, empty lines, superfluous white space, and
// statements that are an empty macro. Line numbers change only by removed lines; a line never becomes two.
// Comments must be line comments, which gen/msl/mark ensures.
//
// Preprocessor lines and lines with quotes stay unchanged.
type compactor struct {
	empty map[string]bool // macros that expand to nothing
}

var emptyMacro = regexp.MustCompile(`(?m)^#define (\w+)(?:\([^)]*\))?$`)

func newCompactor(source string) *compactor {
	c := &compactor{map[string]bool{}}
	for _, m := range emptyMacro.FindAllStringSubmatch(source, -1) {
		c.empty[m[1]] = true
	}
	return c
}

func (c *compactor) compact(text string) string {
	var out strings.Builder
	verbatim := false // inside a directive that a backslash continues
	last := byte(';') // last character of the code so far
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		code, _, _ := strings.Cut(bare, "//")
		verbatim = verbatim || strings.HasPrefix(bare, "#")
		switch {
		case verbatim || strings.ContainsAny(code, `"'`):
			out.WriteString(line)
			verbatim = verbatim && strings.HasSuffix(bare, `\`)
		case strings.IndexByte(";{}", last) >= 0 && c.nothing(code): // not the branch of an if
		default:
			if code = squeeze(code); code != "" {
				out.WriteString(code + "\n")
				last = code[len(code)-1]
			}
		}
	}
	return out.String()
}

var call = regexp.MustCompile(`^(\w+)\s*(\(.*\))?\s*;\s*$`)

// nothing says whether a line is only a statement of an empty macro.
func (c *compactor) nothing(code string) bool {
	m := call.FindStringSubmatch(code)
	return m != nil && c.empty[m[1]] && closesAtEnd(m[2])
}

// closesAtEnd says whether the last character of text closes the bracket that text begins with. It is true
// for text without a bracket.
func closesAtEnd(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return text == ""
}

// squeeze returns a line without superfluous white space.
func squeeze(code string) string {
	var out strings.Builder
	last := byte(0)
	for _, run := range strings.Fields(code) {
		if last != 0 && needsSpace(last, run[0]) {
			out.WriteByte(' ')
		}
		out.WriteString(run)
		last = run[len(run)-1]
	}
	return out.String()
}

// needsSpace says whether two adjacent characters could be one token: two words, two operators, or a sign
// after a possible exponent.
func needsSpace(a, b byte) bool {
	const brackets, exponent, sign = "()[]{},;", "eEpP", "+-"
	switch {
	case strings.IndexByte(brackets, a) >= 0, strings.IndexByte(brackets, b) >= 0:
		return false
	case isWord(a) == isWord(b):
		return true
	}
	return strings.IndexByte(exponent, a) >= 0 && strings.IndexByte(sign, b) >= 0
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
