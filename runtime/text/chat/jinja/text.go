package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// runes is the number of characters of a text.
func runes(text string) int { return utf8.RuneCountInString(text) }

// firstRune is the number of bytes of a text's first character.
func firstRune(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

// runeOffset is the number of bytes of the first n characters.
func runeOffset(text string, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		at += firstRune(text[at:])
	}
	return at
}

// concat joins texts. If the first text is the one that was joined last, the rest is appended in the same
// memory, as in Python; otherwise building a text in a loop would take quadratic time.
func (s *state) concat(first string, more ...string) string {
	added := 0
	for _, text := range more {
		added += len(text)
	}
	grows := len(s.tail) > 0 && len(first) == len(s.tail) && unsafe.StringData(first) == unsafe.SliceData(s.tail)
	if !grows || cap(s.tail)-len(s.tail) < added {
		capacity := 0
		if grows {
			capacity = len(first) + added
		}
		s.charge(len(first) + added + capacity)
		s.tail = append(make([]byte, 0, len(first)+added+capacity), first...)
	}
	s.scan(added)
	for _, text := range more {
		s.tail = append(s.tail, text...)
	}
	// Texts that end earlier in this memory stay valid, as only the part after them is written.
	return unsafe.String(unsafe.SliceData(s.tail), len(s.tail))
}

// marked is a text, safe or not.
func marked(text string, safe bool) Value {
	if safe {
		return markup(text)
	}
	return text
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// escape is a value's text, escaped for HTML unless it is safe.
func (s *state) escape(v Value) string {
	text := s.str(v)
	if _, safe := v.(markup); safe || !strings.ContainsAny(text, `&<>'"`) {
		return text
	}
	s.charge(5 * len(text))
	return htmlEscapes.Replace(text)
}

// str is Python's str().
func (s *state) str(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case markup:
		return string(v)
	case *undefined:
		return ""
	}
	return s.repr(v)
}

// repr is Python's repr().
func (s *state) repr(v Value) string {
	w := &writer{state: s}
	w.repr(v)
	return w.out.String()
}

// writer writes values within the limits.
type writer struct {
	state *state
	out   strings.Builder
}

func (w *writer) add(text string) {
	w.state.charge(2 * len(text))
	w.out.WriteString(text)
}

func (w *writer) repr(v Value) {
	switch v := v.(type) {
	case nil:
		w.add("None")
	case bool:
		w.add(strings.ToUpper(strconv.FormatBool(v)[:1]) + strconv.FormatBool(v)[1:])
	case int:
		w.add(strconv.Itoa(v))
	case *big.Int:
		w.add(decimal(v))
	case float64:
		w.add(floatText(v))
	case string:
		w.quoted(v)
	case markup:
		w.add("Markup(")
		w.quoted(string(v))
		w.add(")")
	case *undefined:
		w.add("Undefined")
	case *numbers:
		w.add("range(" + strconv.Itoa(v.start) + ", " + strconv.Itoa(v.stop))
		if v.step != 1 {
			w.add(", " + strconv.Itoa(v.step))
		}
		w.add(")")
	case *loop:
		w.add(fmt.Sprintf("<LoopContext %d/%d>", v.index0+1, v.length()))
	case *macro:
		w.add("<Macro " + quote(v.node.name) + ">")
	default:
		w.container(v)
	}
}

func (w *writer) container(v Value) {
	w.state.enter()
	defer w.state.leave()
	switch v := v.(type) {
	case *List:
		w.items("[", v.items, "]")
	case *tuple:
		end := ")"
		if len(v.items) == 1 {
			end = ",)"
		}
		w.items("(", v.items, end)
	case *Dict:
		w.members("{", v, "}")
	case *namespace:
		w.members("<Namespace {", v.attrs, "}>")
	case *view:
		w.items(v.kind+"([", w.state.items(v), "])")
	case *function:
		fail("%s is a function; expected a value to write", v.name)
	default:
		fail("a %s cannot be written; expected a value, such as what the filter list makes of it", typeName(v))
	}
}

func (w *writer) items(begin string, items []Value, end string) {
	w.add(begin)
	for i, x := range items {
		if i > 0 {
			w.add(", ")
		}
		w.repr(x)
	}
	w.add(end)
}

func (w *writer) members(begin string, d *Dict, end string) {
	w.add(begin)
	for i, key := range d.keys {
		if i > 0 {
			w.add(", ")
		}
		w.repr(key)
		w.add(": ")
		w.repr(d.values[i])
	}
	w.add(end)
}

// quoted writes a text as Python's repr does.
func (w *writer) quoted(text string) {
	w.state.charge(len(text)) // the result may be longer; add counts it
	w.add(quote(text))
}

// decimal is the digits of a long integer. Python refuses to print more than 4300.
func decimal(n *big.Int) string {
	const most = 4300
	text := n.String()
	if len(strings.TrimPrefix(text, "-")) > most {
		fail("an integer has more than %d digits", most)
	}
	return text
}

// quote is Python's repr of a text.
func quote(text string) string {
	mark := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		mark = '"'
	}
	out := []byte{mark}
	for _, r := range text {
		switch {
		case r == rune(mark) || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r < 0x100:
			out = fmt.Appendf(out, `\x%02x`, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\U%08x`, r)
		}
	}
	return string(append(out, mark))
}
