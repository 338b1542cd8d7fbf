package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ToolCall is a call of a tool that an assistant's turn ends with.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object. Its text is kept as it is, so that a call that a
	// model has written is written again with the same tokens.
	Arguments string
}

// maxJSONDepth is how deep the JSON of a tool or of arguments may be.
const maxJSONDepth = 100

// field is a member of a JSON object, with the text of its value.
type field struct {
	key string
	raw json.RawMessage
}

// fields are the members of a JSON object in their order.
func fields(object string) (out []field, err error) {
	d := json.NewDecoder(strings.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(err, errors.New("expected a JSON object"))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := field{key: key.(string)} // the decoder checks that it is one
		if err := d.Decode(&f.raw); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return out, ended(d)
}

// ended is an error unless a text ends behind the value that was decoded.
func ended(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// PythonJSON writes a JSON text as Python's json.dumps(x, ensure_ascii=False) does, which
// is what models were trained on: a space behind commas and colons, keys in their order.
func PythonJSON(text string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out bytes.Buffer
	if err := writePython(&out, d, 0); err != nil {
		return "", err
	}
	if err := ended(d); err != nil {
		return "", err
	}
	return out.String(), nil
}

// writePython writes the decoder's next value.
func writePython(out *bytes.Buffer, d *json.Decoder, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("JSON of more than %d levels", maxJSONDepth)
	}
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return writeScalar(out, t)
	}
	out.WriteString(open.String())
	for i := 0; d.More(); i++ {
		if i > 0 {
			out.WriteString(", ")
		}
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if err := writeScalar(out, key); err != nil {
				return err
			}
			out.WriteString(": ")
		}
		if err := writePython(out, d, depth+1); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err == nil {
		out.WriteString(end.(json.Delim).String())
	}
	return err
}

func writeScalar(out *bytes.Buffer, x any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return err
	}
	out.Truncate(out.Len() - len("\n"))
	return nil
}
