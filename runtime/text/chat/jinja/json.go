package jinja

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode/utf16"
)

// maxJSONDepth is the deepest nesting of JSON input.
const maxJSONDepth = 100

// FromJSON parses a JSON text: objects become dicts that keep the order of their keys, and whole numbers
// integers of any size. With asWritten, the filter tojson writes unchanged objects and lists with their
// original text, so that a call that a model has written gets the same tokens again.
func FromJSON(text []byte, asWritten bool) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := jsonReader{d, text, asWritten}
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

type jsonReader struct {
	*json.Decoder
	text      []byte
	asWritten bool
}

func (r *jsonReader) value(depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("JSON of more than %d levels", maxJSONDepth)
	}
	t, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return number(string(t))
	case json.Delim:
		from := r.InputOffset() - 1
		if t == '{' {
			return r.object(from, depth)
		}
		return r.list(from, depth)
	}
	return t, nil
}

func (r *jsonReader) list(from int64, depth int) (Value, error) {
	l := &List{items: []Value{}}
	for r.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
	}
	_, err := r.Token()
	l.text = r.written(from)
	return l, err
}

func (r *jsonReader) object(from int64, depth int) (Value, error) {
	d := &Dict{}
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("expected a name in a JSON object")
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.Set(name, v)
	}
	_, err := r.Token()
	d.text = r.written(from)
	return d, err
}

// written is the text of the value that was just parsed.
func (r *jsonReader) written(from int64) string {
	if !r.asWritten {
		return ""
	}
	return string(r.text[from:r.InputOffset()])
}

// number is an integer if the text has no point and no exponent.
func number(text string) (Value, error) {
	if !strings.ContainsAny(text, ".eE") {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || n.BitLen() > maxIntBits {
			return nil, fmt.Errorf("the integer %.20s… has more than %d bits", text, maxIntBits)
		}
		return whole(n), nil
	}
	x, err := json.Number(text).Float64()
	if err != nil && !math.IsInf(x, 0) {
		return nil, err
	}
	return x, nil
}

// ToJSON is json.dumps(v, ensure_ascii=False) for a value from FromJSON.
func ToJSON(v Value) (text string, err error) {
	s := newState(context.Background(), map[string]Value{"": v}, time.Time{})
	defer recovered(&err, s)
	s.asWritten = false
	return toJSON(s, v, args{}).(string), nil
}

// jsonWriter writes values as Python's json.dumps does.
type jsonWriter struct {
	writer
	ascii, sorted, asWritten bool
	indent                   string // per level
	lines                    bool   // each item is on its own line
	comma, colon             string
}

// toJSON is the filter tojson as transformers defines it.
func toJSON(s *state, v Value, a args) Value {
	b := s.bind("tojson", a, "ensure_ascii=", "indent=", "separators=", "sort_keys=")
	w := &jsonWriter{writer: writer{state: s}, ascii: truth(or(b[0], false)), sorted: truth(or(b[3], false)), comma: ", ", colon: ": "}
	if indent := or(b[1], nil); indent != nil {
		w.lines, w.comma = true, ","
		if text, ok := textOf(indent); ok {
			w.indent = text
		} else {
			n := max(s.integer("tojson", indent), 0)
			s.charge(n)
			w.indent = strings.Repeat(" ", n)
		}
	}
	if given := or(b[2], nil); given != nil {
		both, _ := sequence(given)
		if len(both) != 2 {
			fail("tojson expects two separators")
		}
		w.comma, w.colon = s.text("tojson", both[0]), s.text("tojson", both[1])
	}
	w.asWritten = s.asWritten && !w.ascii && !w.sorted && !w.lines && or(b[2], nil) == nil
	w.value(v, 0)
	return w.out.String()
}

func (w *jsonWriter) value(v Value, level int) {
	w.state.spend(1)
	if text, ok := textOf(v); ok {
		w.string(text)
		return
	}
	switch v := v.(type) {
	case nil, bool, int, *big.Int, float64:
		w.add(w.scalar(v))
	case *Dict:
		if w.asWritten && v.text != "" {
			w.add(v.text)
			return
		}
		w.object(v, level)
	case *List:
		if w.asWritten && v.text != "" {
			w.add(v.text)
			return
		}
		w.list("[", "]", len(v.items), level, func(i int) { w.value(v.items[i], level+1) })
	case *tuple:
		w.list("[", "]", len(v.items), level, func(i int) { w.value(v.items[i], level+1) })
	default:
		w.state.refuse(v)
		fail("Object of type %s is not JSON serializable", typeName(v))
	}
}

// jsonWords is what JSON and Python write differently.
var jsonWords = map[string]string{"None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

func (w *jsonWriter) scalar(v Value) string {
	text := w.state.repr(v)
	if word := jsonWords[text]; word != "" {
		return word
	}
	return text
}

func (w *jsonWriter) object(d *Dict, level int) {
	order := make([]Value, len(d.keys))
	w.state.charge(times(len(d.keys), 16))
	for i := range order {
		order[i] = &tuple{items: []Value{d.keys[i], d.values[i]}}
	}
	if w.sorted {
		w.state.sort(order, func(v Value) Value { return v.(*tuple).items[0] }, false)
	}
	w.list("{", "}", len(order), level, func(i int) {
		key, v := order[i].(*tuple).items[0], order[i].(*tuple).items[1]
		text, ok := textOf(key)
		if !ok {
			if key != nil && !isNumber(key) {
				fail("keys must be str, int, float, bool or None, not %s", typeName(key))
			}
			text = w.scalar(key)
		}
		w.string(text)
		w.add(w.colon)
		w.value(v, level+1)
	})
}

// list writes n items between brackets.
func (w *jsonWriter) list(begin, end string, n, level int, item func(i int)) {
	w.state.enter()
	defer w.state.leave()
	w.add(begin)
	for i := range n {
		if i > 0 {
			w.add(w.comma)
		}
		w.newLine(level + 1)
		item(i)
	}
	if n > 0 {
		w.newLine(level)
	}
	w.add(end)
}

func (w *jsonWriter) newLine(level int) {
	if w.lines {
		w.state.charge(times(len(w.indent), level))
		w.add("\n" + strings.Repeat(w.indent, level))
	}
}

// jsonEscapes is the characters with a one-letter escape in JSON.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func (w *jsonWriter) string(text string) {
	w.state.charge(2 * len(text))
	w.add(jsonString(text, w.ascii))
}

// jsonString is a text as Python's json.dumps writes it, with or without escapes for non-ASCII characters.
func jsonString(text string, ascii bool) string {
	out := make([]byte, 0, len(text)+2)
	out = append(out, '"')
	for _, r := range text {
		short, ok := jsonEscapes[r]
		switch {
		case ok:
			out = append(out, short...)
		case r < ' ' || ascii && 0x7E < r && r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		case ascii && r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = append(out, string(r)...)
		}
	}
	return string(append(out, '"'))
}
