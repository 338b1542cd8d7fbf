package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// toJSON is Python's json.dumps(x, ensure_ascii=False), with an indent if the template
// wants one. The engine's own filter escapes for HTML and sorts keys.
func toJSON(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	w := jsonWriter{}
	if indent, ok := args.KwArgs["indent"]; ok && indent.IsInteger() {
		w.indent = min(max(indent.Integer(), 0), 16)
	}
	if w.indent == 0 {
		if found, ok := e.Environment.Context.Get(textsKey); ok {
			w.texts, _ = found.(texts)
		}
	}
	if err := w.write(in, 0); err != nil {
		return exec.AsValue(fmt.Errorf("tojson: %w", err))
	}
	return exec.AsSafeValue(w.out.String())
}

// jsonWriter writes the engine's values.
type jsonWriter struct {
	out    bytes.Buffer
	texts  texts
	indent int // spaces per level; 0: all in one line
}

func (w *jsonWriter) write(v *exec.Value, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("more than %d levels", maxJSONDepth)
	}
	if w.out.Len() > maxPrompt {
		return fmt.Errorf("more than %d bytes", maxPrompt)
	}
	switch x := v.Interface().(type) {
	case *exec.Dict:
		if text, ok := w.texts[x]; ok {
			w.out.WriteString(text)
			return nil
		}
	case float64:
		w.out.WriteString(pythonFloat(x))
		return nil
	case nil, string, bool, int, int64:
		return writeScalar(&w.out, x)
	case json.RawMessage:
		return fmt.Errorf("%T is not supported", x)
	}
	switch {
	case v.IsDict():
		members := pairs(v)
		return w.list("{", "}", len(members), depth, func(i int) error {
			if err := writeScalar(&w.out, members[i].Key.String()); err != nil {
				return err
			}
			w.out.WriteString(": ")
			return w.write(members[i].Value, depth+1)
		})
	case v.IsList():
		return w.list("[", "]", v.Len(), depth, func(i int) error { return w.write(v.Index(i), depth+1) })
	}
	return fmt.Errorf("%s is not supported", v.String())
}

// list writes n items between brackets.
func (w *jsonWriter) list(open, end string, n, depth int, item func(i int) error) error {
	w.out.WriteString(open)
	for i := range n {
		if i > 0 {
			w.out.WriteString(",")
		}
		w.space(i > 0, depth+1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.space(false, depth)
	}
	w.out.WriteString(end)
	return nil
}

// space is what stands before an item: a line break with an indent, else a space behind
// a comma.
func (w *jsonWriter) space(behindComma bool, depth int) {
	switch {
	case w.indent > 0:
		w.out.WriteString("\n" + strings.Repeat(" ", w.indent*depth))
	case behindComma:
		w.out.WriteString(" ")
	}
}

// pythonFloat is Python's repr of a float: the shortest digits, with ".0" behind whole
// numbers, and an exponent from 1e16 on and below 1e-4.
func pythonFloat(x float64) string {
	if abs := max(x, -x); abs != 0 && (abs >= 1e16 || abs < 1e-4) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
