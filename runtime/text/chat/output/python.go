package output

import (
	"encoding/json"
	"strings"
)

// pythonLiteral converts a Python literal (True, None, {'a': 1}) to JSON. Models that were trained on such
// text write it in place of JSON.
func pythonLiteral(text string) (string, bool) {
	r := literal{rest: text}
	if !r.value(0) || strings.TrimLeft(r.rest, space) != "" {
		return "", false
	}
	out := r.out.String()
	return out, json.Valid([]byte(out))
}

// maxLiteral is the deepest nesting of a literal.
const maxLiteral = 100

// literal is the state of parsing one.
type literal struct {
	rest string
	out  strings.Builder
}

// words maps Python's and JSON's words to JSON.
var words = []struct{ python, json string }{{"True", "true"}, {"False", "false"}, {"None", "null"}, {"true", "true"}, {"false", "false"}, {"null", "null"}}

// value parses any value.
func (r *literal) value(depth int) bool {
	r.rest = strings.TrimLeft(r.rest, space)
	if depth > maxLiteral || r.rest == "" {
		return false
	}
	switch r.rest[0] {
	case '{':
		return r.list('{', '}', depth)
	case '[':
		return r.list('[', ']', depth)
	case '(':
		return r.list('[', ')', depth)
	case '\'', '"':
		return r.text()
	}
	for _, w := range words {
		if rest, ok := strings.CutPrefix(r.rest, w.python); ok {
			r.rest = rest
			r.out.WriteString(w.json)
			return true
		}
	}
	n := len(r.rest) - len(strings.TrimLeft(r.rest, "+-.0123456789eE"))
	r.out.WriteString(r.rest[:n]) // json.Valid checks the number in the end
	r.rest = r.rest[n:]
	return n > 0
}

// list parses a list, a tuple, or an object. A trailing comma is allowed.
func (r *literal) list(open, end byte, depth int) bool {
	r.out.WriteByte(open)
	r.rest = r.rest[1:]
	for i := 0; ; i++ {
		if r.mark(end) {
			r.out.WriteByte(open + 2) // the closing bracket
			return true
		}
		if i > 0 {
			r.out.WriteString(", ")
		}
		if open == '{' {
			if r.rest == "" || r.rest[0] != '\'' && r.rest[0] != '"' || !r.text() || !r.mark(':') {
				return false
			}
			r.out.WriteString(": ")
		}
		if !r.value(depth+1) || !r.mark(',') && !strings.HasPrefix(r.rest, string(end)) {
			return false
		}
	}
}

// mark skips a punctuation mark and the white space around it.
func (r *literal) mark(c byte) bool {
	r.rest = strings.TrimLeft(r.rest, space)
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = strings.TrimLeft(r.rest[1:], space)
	return true
}

// escapes is the characters with a special meaning after a backslash.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// text parses a string. It fails for numeric character escapes, which JSON writes differently.
func (r *literal) text() bool {
	quotes := r.rest[0]
	var text strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == quotes:
			r.out.WriteString(quote(text.String()))
			r.rest = r.rest[i+1:]
			return true
		case c == '\\' && i+1 < len(r.rest):
			i++
			c = r.rest[i]
			if strings.IndexByte("xuUN01234567", c) >= 0 {
				return false
			}
			if escape, ok := escapes[c]; ok {
				c = escape
			}
			text.WriteByte(c)
		default:
			text.WriteByte(c)
		}
	}
	return false
}
