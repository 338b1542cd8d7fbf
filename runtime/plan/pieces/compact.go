package pieces

import (
	"regexp"
	"strings"
)

// compactor leaves out of a source what its compiler does not need: comments, empty lines,
// white space that separates nothing, and statements that are a macro which stands for
// nothing. A line stays a line, so that one that a compiler names can be found in the
// file. Comments have to be line comments, which gen/msl/mark sees to.
//
// Preprocessor lines, and what has quotes, stay as they are.
type compactor struct {
	empty map[string]bool // macros that stand for nothing
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
	verbatim := false // in a directive that goes on after a backslash
	last := byte(';') // of the code before
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		code, _, _ := strings.Cut(bare, "//")
		verbatim = verbatim || strings.HasPrefix(bare, "#")
		switch {
		case verbatim || strings.ContainsAny(code, `"'`):
			out.WriteString(line)
			verbatim = verbatim && strings.HasSuffix(bare, `\`)
		case strings.IndexByte(";{}", last) >= 0 && c.nothing(code): // and no branch of an if
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

// nothing says whether a line is a statement of an empty macro and no more.
func (c *compactor) nothing(code string) bool {
	m := call.FindStringSubmatch(code)
	return m != nil && c.empty[m[1]] && closesAtEnd(m[2])
}

// closesAtEnd says whether the bracket that text begins with is closed by its last
// character. Without a bracket it is.
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

// squeeze is a line without needless white space.
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

// needsSpace says whether two characters could be part of one token: those of two words,
// those of two operators, and a sign after what may be an exponent.
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
