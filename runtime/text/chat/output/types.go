package output

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// tool is the kinds of a tool's arguments, by name.
type tool map[string]kind

// kind is the possible values of a parameter according to its JSON Schema.
type kind struct {
	known bool     // the parameter is declared
	types []string // JSON Schema's; nil: any
	texts []string // the strings of an enum or a const
}

// none says that there is no such parameter.
func (k kind) none() bool { return !k.known }

// text says that a value can only be a string.
func (k kind) text() bool { return slices.Equal(k.types, []string{"string"}) }

// json converts a value that the model wrote to JSON. The value is used as it is if it is JSON of an allowed
// type, or converted if it is a Python literal of an allowed type. Otherwise it is a string.
func (k kind) json(value string) string {
	if slices.Contains(k.texts, value) {
		return quote(value)
	}
	mayBeText := slices.Contains(k.types, "string")
	text := strings.TrimSpace(value)
	if !json.Valid([]byte(text)) {
		literal, ok := pythonLiteral(text)
		if !ok || mayBeText {
			return quote(value)
		}
		text = literal
	}
	if mayBeText && !slices.Contains(k.types, typeOf(text)) {
		return quote(value)
	}
	return text
}

// typeOf is the type of a JSON value by its first letter.
func typeOf(text string) string {
	switch text[0] {
	case '"':
		return "" // a string without quotes may begin with one
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}

// declared returns the tools by name. A tool that cannot be parsed has no types.
func declared(list []json.RawMessage) map[string]tool {
	out := map[string]tool{}
	for _, text := range list {
		var d struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		_ = json.Unmarshal(text, &d) // errors leave the rest empty
		if d.Function.Name == "" {
			continue
		}
		t := tool{}
		s := schemas{root: d.Function.Parameters, kinds: map[string]kind{}, seen: map[string]bool{}}
		s.properties(d.Function.Parameters, t)
		out[d.Function.Name] = t
	}
	return out
}

// schemas evaluates nested schemas. Each reference is evaluated once, so that multiplying references take no
// more time than the text.
type schemas struct {
	root  json.RawMessage
	kinds map[string]kind // by reference; empty while the reference is being evaluated
	seen  map[string]bool // references whose properties were evaluated
}

// schema is the part of JSON Schema about types.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
	Ref        string                     `json:"$ref"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Nullable   bool                       `json:"nullable"` // of OpenAPI 3.0
}

// read parses a schema. Fields of a wrong type are ignored.
func read(text json.RawMessage) (*schema, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil, false
	}
	var out schema
	for name, to := range map[string]any{"properties": &out.Properties, "anyOf": &out.AnyOf, "oneOf": &out.OneOf, "allOf": &out.AllOf, "$ref": &out.Ref, "enum": &out.Enum, "nullable": &out.Nullable} {
		if field := fields[name]; field != nil {
			_ = json.Unmarshal(field, to) // as far as it goes
		}
	}
	out.Type, out.Const = fields["type"], fields["const"]
	return &out, true
}

// properties evaluates the members of an object.
func (s *schemas) properties(text json.RawMessage, to tool) {
	q, ok := read(text)
	if !ok {
		return
	}
	for name, property := range q.Properties {
		k := s.kind(property)
		k.known = true
		to[name] = k
	}
	for _, sub := range slices.Concat(q.AllOf, q.AnyOf, q.OneOf) {
		s.properties(sub, to)
	}
	if q.Ref != "" && !s.seen[q.Ref] {
		s.seen[q.Ref] = true
		s.properties(s.refer(q.Ref), to)
	}
}

// kind is the kind of a schema's values.
func (s *schemas) kind(text json.RawMessage) kind {
	q, ok := read(text)
	if !ok {
		return kind{}
	}
	k := kind{types: typeNames(q.Type)}
	if q.Nullable && k.types != nil {
		k.types = append(k.types, "null")
	}
	if q.Const != nil {
		k = k.and(values([]json.RawMessage{q.Const}))
	}
	if len(q.Enum) > 0 {
		k = k.and(values(q.Enum))
	}
	for _, list := range [][]json.RawMessage{q.AnyOf, q.OneOf} {
		if len(list) > 0 {
			k = k.and(s.either(list))
		}
	}
	for _, sub := range q.AllOf {
		k = k.and(s.kind(sub))
	}
	if q.Ref == "" {
		return k
	}
	if _, ok := s.kinds[q.Ref]; !ok {
		s.kinds[q.Ref] = kind{types: []string{}}
		s.kinds[q.Ref] = s.kind(s.refer(q.Ref))
	}
	return k.and(s.kinds[q.Ref])
}

// either is the kind of values that satisfy one of several schemas.
func (s *schemas) either(list []json.RawMessage) (k kind) {
	anything := false
	for _, sub := range list {
		one := s.kind(sub)
		anything = anything || one.types == nil
		k.types, k.texts = append(k.types, one.types...), append(k.texts, one.texts...)
	}
	if anything {
		k.types = nil
	}
	slices.Sort(k.types)
	k.types = slices.Compact(k.types)
	return k
}

// and is the values of both kinds.
func (k kind) and(other kind) kind {
	k.texts = append(k.texts, other.texts...)
	switch {
	case k.types == nil:
		k.types = other.types
	case other.types != nil:
		k.types = slices.DeleteFunc(slices.Clone(k.types), func(name string) bool { return !slices.Contains(other.types, name) })
	}
	return k
}

// values is the kind of a list of values.
func values(list []json.RawMessage) (k kind) {
	k.types = []string{}
	for _, v := range list {
		var text string
		name := typeOf(string(v))
		if name == "" && json.Unmarshal(v, &text) == nil {
			k.texts = append(k.texts, text)
			name = "string"
		}
		if !slices.Contains(k.types, name) {
			k.types = append(k.types, name)
		}
	}
	return k
}

// typeNames is the types that a schema names; nil: any.
func typeNames(text json.RawMessage) (names []string) {
	var one string
	if json.Unmarshal(text, &one) == nil && one != "" {
		names = []string{one}
	} else if json.Unmarshal(text, &names) != nil {
		return nil
	}
	if slices.Contains(names, "number") {
		names = append(names, "integer")
	}
	return names
}

// refer is the schema of a local reference; nil for others.
func (s *schemas) refer(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for _, step := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(at, &object) == nil {
			at = object[step]
		} else if i, err := strconv.Atoi(step); err == nil && json.Unmarshal(at, &list) == nil && i >= 0 && i < len(list) {
			at = list[i]
		} else {
			return nil
		}
	}
	return at
}
