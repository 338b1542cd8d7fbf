package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep a schema may be.
const maxDepth = 100

// object is a JSON object with the order of its keys.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }
func (o *object) get(key string) any  { return o.values[key] }

// decode reads one JSON value: *object, []any, string, json.Number, bool or nil.
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

// encode is the JSON text of what decode returns.
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

// escape is a character as it stands in a JSON string.
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

// resolve follows a JSON pointer, #/a/b.
func resolve(v any, pointer string) (any, error) {
	if pointer == "#" {
		return v, nil
	}
	for _, key := range strings.Split(pointer, "/")[1:] {
		key, err := url.PathUnescape(key)
		if err != nil {
			return nil, fmt.Errorf("%q is no JSON pointer", pointer)
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		found := false
		switch at := v.(type) {
		case *object:
			v, found = at.get(key), at.has(key)
		case []any:
			i, err := strconv.Atoi(key)
			if found = err == nil && i >= 0 && i < len(at); found {
				v = at[i]
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no %q in the schema", pointer)
		}
	}
	return v, nil
}

// hasType says whether a value is of a type.
func hasType(v any, kind string) bool {
	switch v := v.(type) {
	case *object:
		return kind == "object"
	case []any:
		return kind == "array"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case json.Number:
		r, ok := decimal(v)
		return kind == "number" || kind == "integer" && ok && r.IsInt()
	}
	return kind == "null"
}

// allTypes are the types of JSON Schema. An integer is a number.
var allTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// typesOf are those that a schema names; none: any.
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

// apart says whether no value can meet both of two schemas, as their types say, or a
// required property with different constants.
func (c *compiler) apart(a, b any) bool {
	x, y := c.follow(a), c.follow(b)
	if x == nil || y == nil {
		return false
	}
	if s, t := kinds(x), kinds(y); s != nil && t != nil {
		if !slices.ContainsFunc(s, func(k string) bool { return slices.Contains(t, k) }) {
			return true
		}
	}
	if v, w := constants(x), constants(y); v != nil && w != nil {
		return !slices.ContainsFunc(v, func(text string) bool { return slices.Contains(w, text) })
	}
	if !slices.Equal(kinds(x), []string{"object"}) || !slices.Equal(kinds(y), []string{"object"}) {
		return false
	}
	for _, k := range required(x) {
		p, ok := x.get("properties").(*object)
		q, both := y.get("properties").(*object)
		if !ok || !both || !p.has(k) || !q.has(k) || !slices.Contains(required(y), k) {
			continue
		}
		v, w := constants(c.follow(p.get(k))), constants(c.follow(q.get(k)))
		if v != nil && w != nil && !slices.ContainsFunc(v, func(text string) bool { return slices.Contains(w, text) }) {
			return true
		}
	}
	return false
}

// follow is a schema behind its references; nil if it is none.
func (c *compiler) follow(v any) *object {
	for range maxDepth {
		s, ok := v.(*object)
		if !ok {
			return nil
		}
		name, ok := s.get("$ref").(string)
		if !ok {
			return s
		}
		to, err := resolve(c.root, name)
		if err != nil {
			return nil
		}
		v = to
	}
	return nil
}

// kinds are a schema's types, with integers as numbers; nil: any.
func kinds(s *object) []string {
	types, err := typesOf(s, "")
	if err != nil {
		return nil
	}
	for i, t := range types {
		if t == "integer" {
			types[i] = "number"
		}
	}
	return types
}

// constants are the texts of the only values that a schema has, if they are strings; nil
// if it has others.
func constants(s *object) (texts []string) {
	if s == nil {
		return nil
	}
	list, ok := s.get("enum").([]any)
	if s.has("const") {
		list, ok = []any{s.get("const")}, true
	}
	for _, v := range list {
		text, is := v.(string)
		if !is {
			return nil
		}
		texts = append(texts, text)
	}
	if !ok {
		return nil
	}
	return texts
}

// required are the names of properties that must be there.
func required(s *object) (names []string) {
	list, _ := s.get("required").([]any)
	for _, v := range list {
		if name, ok := v.(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
