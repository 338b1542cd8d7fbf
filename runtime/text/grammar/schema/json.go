package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is the deepest nesting of a schema.
const maxDepth = 100

// object is a JSON object with the order of its keys.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }
func (o *object) get(key string) any  { return o.values[key] }

// decode parses one JSON value: *object, []any, string, json.Number, bool or nil.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := next(d, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the schema is not JSON: something follows its end")
	}
	return v, nil
}

func next(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	delim, nested := t.(json.Delim)
	if err != nil || !nested {
		return t, err
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("more than %d levels", maxDepth)
	}
	list := []any{}
	o := &object{values: map[string]any{}}
	for d.More() {
		key := ""
		if delim == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			key = t.(string)
		}
		v, err := next(d, depth+1)
		if err != nil {
			return nil, err
		}
		if delim == '[' {
			list = append(list, v)
			continue
		}
		if !o.has(key) {
			o.keys = append(o.keys, key)
		}
		o.values[key] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if delim == '[' {
		return list, nil
	}
	return o, nil
}

// encode is the JSON text of a value from decode.
func encode(v any) string {
	switch v := v.(type) {
	case *object:
		var parts []string
		for _, k := range v.keys {
			parts = append(parts, quote(k)+": "+encode(v.values[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, encode(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quote(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// quote is a JSON string.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		b.WriteString(escape(r))
	}
	return b.String() + `"`
}

// escape is a character as it is written in a JSON string.
func escape(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	}
	if r < ' ' {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// allTypes is the types of JSON Schema. Integers are numbers, too.
var allTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesOf is the types that a schema names; none: any.
func typesOf(s *object, path string) (types []string, err error) {
	list, several := s.get("type").([]any)
	if !several && s.has("type") {
		list = []any{s.get("type")}
	}
	for _, t := range list {
		name, ok := t.(string)
		if !ok || !slices.Contains(allTypes, name) {
			return nil, fmt.Errorf("%s/type: expected one of %s, or a list of them", path, strings.Join(allTypes, ", "))
		}
		types = append(types, name)
	}
	if several && len(types) == 0 {
		return nil, fmt.Errorf("%s/type: an empty list", path)
	}
	return types, nil
}

// required is the names of required properties. null counts as an empty list, as Go encodes an unset slice.
// ok is false if the value is not a list of strings.
func required(s *object) (names []string, ok bool) {
	list, isList := s.get("required").([]any)
	ok = isList || s.get("required") == nil
	for _, v := range list {
		name, isText := v.(string)
		if ok = ok && isText; isText && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, ok
}
