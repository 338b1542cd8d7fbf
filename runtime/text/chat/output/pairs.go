package output

import (
	"encoding/json"
	"slices"
	"strings"
)

// Markers of calls whose arguments are pairs of keys and values.
const (
	keyBegin, keyEnd     = "<arg_key>", "</arg_key>"
	valueBegin, valueEnd = "<arg_value>", "</arg_value>"
	callEnd              = "</tool_call>"
)

// maxKey is the longest key, in bytes, that is recognised after a value without its end marker.
const maxKey = 256

// pair parses a key and its value, unless the value is streamed. Anything else ends the call, and is text.
func (p *Parser) pair() bool {
	rest := strings.TrimLeft(p.held, space)
	skip := len(p.held) - len(rest)
	switch {
	case strings.HasPrefix(rest, callEnd):
		p.take(skip + len(callEnd))
		p.closePairs()
		return true
	case strings.HasPrefix(rest, keyBegin):
	case p.last && strings.HasPrefix(callEnd, rest): // the end is missing
		p.take(len(p.held))
		p.closePairs()
		return true
	case strings.HasPrefix(callEnd, rest) || strings.HasPrefix(keyBegin, rest):
		return false
	default:
		p.closePairs()
		return true
	}
	key, after, ok := strings.Cut(rest[len(keyBegin):], keyEnd)
	if !ok {
		return len(rest) > maxHeader && p.broken()
	}
	value := strings.TrimLeft(after, space)
	if !strings.HasPrefix(value, valueBegin) {
		return !strings.HasPrefix(valueBegin, value) && p.broken()
	}
	key, value = strings.TrimSpace(key), value[len(valueBegin):]
	kind := p.call.tool[key]
	if kind.text() {
		p.key(key)
		p.argument(`"`)
		p.take(len(p.held) - len(value))
		p.where = inLiteral
		return true
	}
	size, skip, ended := p.limit(value)
	if !ended {
		return false
	}
	p.key(key)
	p.argument(kind.json(value[:size]))
	p.take(len(p.held) - len(value) + size + skip)
	return true
}

// key begins a pair.
func (p *Parser) key(key string) {
	open := "{"
	if len(p.call.keys) > 0 {
		open = ", "
	}
	p.call.keys = append(p.call.keys, key)
	p.argument(open + quote(key) + ": ")
}

// literal emits the text of a string.
func (p *Parser) literal() bool {
	size, skip, ended := p.limit(p.held)
	if size > 0 {
		p.argument(inner(p.take(size)))
	}
	if !ended {
		return false
	}
	p.argument(`"`)
	p.take(skip)
	p.where = inPairs
	return true
}

// limit is how many bytes of a text belong to a value. If the value ends there, skip is the length of the end
// marker. A marker counts only if the call continues after it as calls do, because values quote markers, too.
// A missing end marker is recognised by the next marker.
func (p *Parser) limit(text string) (size, skip int, ended bool) {
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			break
		}
		at += next
		skip, is := p.end(text[at:])
		switch {
		case is == yes && skip > 0:
			return at, skip, true
		case is == yes:
			kept := strings.TrimRight(text[:at], "\n")
			return len(kept), at - len(kept), true
		case is == unknown && !p.last:
			return len(strings.TrimRight(text[:at], "\n")), 0, false
		}
		at++
	}
	return len(strings.TrimRight(text, "\n")), 0, false
}

// answer is yes, no, or undecided until more text comes.
type answer int

const (
	no answer = iota
	unknown
	yes
)

// end says whether the text is the end of a value, and the length of the end marker.
func (p *Parser) end(text string) (skip int, is answer) {
	switch {
	case strings.HasPrefix(text, valueEnd):
		return len(valueEnd), p.follows(text[len(valueEnd):], keyBegin, callEnd, p.format.Call)
	case strings.HasPrefix(text, callEnd):
		return 0, p.follows(text[len(callEnd):], p.format.Call)
	case strings.HasPrefix(text, keyBegin):
		key, after, ok := strings.Cut(text[len(keyBegin):], keyEnd)
		switch {
		case !ok && len(text) < maxKey:
			return 0, unknown
		case !ok || p.call.tool[key].none() || slices.Contains(p.call.keys, key):
			return 0, no
		case strings.TrimSpace(after) == "":
			return 0, unknown
		}
		return 0, p.follows(after, valueBegin)
	}
	for _, mark := range []string{valueEnd, callEnd, keyBegin} {
		if strings.HasPrefix(mark, text) {
			return 0, unknown
		}
	}
	return 0, no
}

// follows says whether a text begins with one of the marks. At the end of the answer nothing has to follow.
func (p *Parser) follows(text string, marks ...string) answer {
	text = strings.TrimLeft(text, space)
	is := no
	for _, mark := range marks {
		switch {
		case strings.HasPrefix(text, mark), p.last && strings.HasPrefix(mark, text):
			return yes
		case strings.HasPrefix(mark, text):
			is = unknown
		}
	}
	return is
}

// broken ends a call that continues with unexpected text.
func (p *Parser) broken() bool {
	p.closePairs()
	return true
}

// closePairs closes the JSON object.
func (p *Parser) closePairs() {
	if len(p.call.keys) == 0 {
		p.argument("{")
	}
	p.argument("}")
	p.finish()
}

// quote is a JSON string; inner is its contents without the quotes.
func quote(text string) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(out.String(), "\n")
}

func inner(text string) string {
	text = quote(text)
	return text[1 : len(text)-1]
}
