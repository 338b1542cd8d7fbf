package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// aboutOf is the type of values that a keyword applies to.
var aboutOf = map[string]kinds{
	"properties": kindObject, "required": kindObject, "additionalProperties": kindObject, "patternProperties": kindObject, "propertyNames": kindObject, "minProperties": kindObject, "maxProperties": kindObject, "dependentRequired": kindObject, "dependentSchemas": kindObject, "unevaluatedProperties": kindObject,
	"items": kindArray, "prefixItems": kindArray, "minItems": kindArray, "maxItems": kindArray, "additionalItems": kindArray, "contains": kindArray, "minContains": kindArray, "maxContains": kindArray, "uniqueItems": kindArray, "unevaluatedItems": kindArray,
	"pattern": kindText, "minLength": kindText, "maxLength": kindText,
	"minimum": kindNumber, "maximum": kindNumber, "exclusiveMinimum": kindNumber, "exclusiveMaximum": kindNumber, "multipleOf": kindNumber,
}

// kindOf maps JSON Schema's types.
var kindOf = map[string]kinds{"object": kindObject, "array": kindArray, "string": kindText, "number": kindNumber, "integer": kindInteger, "boolean": kindBoolean, "null": kindNull}

// keyword restricts a form.
type keyword struct {
	name string
	form func(c *compiler, p place, exact bool) (*form, error)
}

// applied is the keywords with forms of their own, in the order in which they are intersected. It is set by
// init, as the functions refer to it.
var applied []keyword

func init() {
	applied = []keyword{
		{"$ref", (*compiler).ref}, {"$dynamicRef", (*compiler).dynamicRef}, {"$recursiveRef", (*compiler).ref},
		{"enum", (*compiler).enum}, {"const", (*compiler).constant},
		{"allOf", (*compiler).allOf}, {"anyOf", (*compiler).anyOf}, {"oneOf", (*compiler).oneOf}, {"not", (*compiler).notForm}, {"if", (*compiler).ifForm},
		{"dependentRequired", (*compiler).dependent}, {"dependentSchemas", (*compiler).dependent}, {"dependencies", (*compiler).dependent},
	}
}

// keywords is the form of a schema.
func (c *compiler) keywords(p place, exact bool) (*form, error) {
	s := p.schema
	out, err := c.typed(p, exact)
	if err != nil {
		return nil, err
	}
	for _, k := range applied {
		if !s.has(k.name) {
			continue
		}
		f, err := k.form(c, p, exact)
		if err == nil {
			f, err = c.meet(out, f)
		}
		if err != nil {
			if err = c.without(err, p, k.name, exact); err != nil {
				return nil, err
			}
			continue
		}
		out = f
	}
	return c.unseen(out, p, exact)
}

// without returns nil if an unsupported keyword is to have no effect.
func (c *compiler) without(err error, p place, name string, exact bool) error {
	if exact || c.ctx.Err() != nil || c.Spent() {
		return err
	}
	return c.unsupportedBy(err, p.path, name)
}

// unsupportedBy is the error of a keyword, caused by it or by a schema within it. An invalid schema stays an
// error even for a lenient caller.
func (c *compiler) unsupportedBy(err error, path, name string) error {
	var known *UnsupportedError
	switch {
	case errors.As(err, &known):
		if known.Path == "" {
			known = &UnsupportedError{path, known.Keyword, known.Why}
		}
	case !tooLarge(err):
		return err
	default:
		known = &UnsupportedError{path, name, err.Error()}
	}
	if !c.Lenient {
		return known
	}
	c.pass(known)
	return nil
}

// typed is the form of a schema's types and of the keywords for each type.
func (c *compiler) typed(p place, exact bool) (*form, error) {
	s := p.schema
	types, err := typesOf(s, p.path)
	if err != nil {
		return nil, err
	}
	of := allKinds
	if s.has("type") {
		of = 0
		for _, t := range types {
			of |= kindOf[t]
		}
	}
	if s.get("nullable") == true && s.has("type") {
		of |= kindNull
	}
	out := full(of)
	out.typed = s.has("type")
	for _, k := range s.keys {
		out.about |= aboutOf[k]
	}
	if _, known := s.get("format").(string); known && out.about == 0 && formats[s.get("format").(string)] != "" {
		out.about = kindText
	}
	if out.about&kindText != 0 || s.has("format") {
		t, err := c.strings(s, p.path, exact)
		if err != nil {
			return nil, err
		}
		out.loose = out.loose || s.has("format")
		if out.text, err = c.meetTexts(out.text, t); err != nil {
			return nil, err
		}
	}
	if out.about&kindNumber != 0 {
		n, err := c.numbers(s, p.path)
		if err != nil {
			return nil, err
		}
		if out.numbers, err = pairsOf(c, out.numbers, n, c.meetNumbers); err != nil {
			return nil, err
		}
	}
	if out.about&kindArray != 0 {
		a, _, err := c.arrays(p)
		if err != nil {
			return nil, err
		}
		if out.arrays, err = pairsOf(c, out.arrays, a, c.meetArrays); err != nil {
			return nil, err
		}
	}
	if out.about&kindObject != 0 {
		o, err := c.objects(p, exact)
		if err != nil {
			return nil, err
		}
		if out.objects, err = pairsOf(c, out.objects, o, c.meetMembers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pairsOf intersects each of a list with one constraint; nil: nothing is left.
func pairsOf[T any](c *compiler, list []*T, one *T, meet func(a, b *T) *T) ([]*T, error) {
	if one == nil {
		return nil, nil
	}
	return met(c, list, []*T{one}, meet)
}

// unseen applies the keywords about items and properties that no other keyword has evaluated.
func (c *compiler) unseen(f *form, p place, exact bool) (*form, error) {
	s := p.schema
	out := *f
	if s.has("unevaluatedItems") {
		of, err := c.child(p, s.get("unevaluatedItems"), p.path+"/unevaluatedItems")
		if err != nil {
			return nil, err
		}
		if exact && len(f.arrays) > 1 {
			return nil, &UnsupportedError{p.path, "unevaluatedItems", "within not, if or oneOf"}
		}
		out.arrays = nil
		for _, a := range f.arrays {
			if a = c.unseenItems(a, of); a != nil {
				out.arrays = append(out.arrays, a)
			}
		}
		out.loose = true
	}
	if s.has("unevaluatedProperties") {
		of, err := c.child(p, s.get("unevaluatedProperties"), p.path+"/unevaluatedProperties")
		if err != nil {
			return nil, err
		}
		if exact && len(f.objects) > 1 {
			return nil, &UnsupportedError{p.path, "unevaluatedProperties", "within not, if or oneOf"}
		}
		out.objects = nil
		for _, o := range f.objects {
			if o = c.unseenMembers(o, of); o != nil {
				out.objects = append(out.objects, o)
			}
		}
	}
	return &out, nil
}

// child is the condition of being valid against a schema within another one.
func (c *compiler) child(in place, v any, path string) (*condition, error) {
	if err := isSchemaValue(v, path); err != nil {
		return nil, err
	}
	return c.schema(c.sub(in, v, path)), nil
}

// isSchemaValue fails for a value that is not a schema.
func isSchemaValue(v any, path string) error {
	switch v.(type) {
	case bool, *object:
		return nil
	}
	return fmt.Errorf("%s: expected a schema, which is an object", path)
}

func (c *compiler) childForm(in place, v any, path string, exact bool) (*form, error) {
	p, err := c.child(in, v, path)
	if err != nil {
		return nil, err
	}
	return c.form(p, exact)
}

func (c *compiler) ref(p place, exact bool) (*form, error) {
	key := "$ref"
	if !p.schema.has(key) {
		key = "$recursiveRef"
	}
	return c.referred(p, key, exact, c.refer)
}

func (c *compiler) dynamicRef(p place, exact bool) (*form, error) {
	return c.referred(p, "$dynamicRef", exact, c.dynamicRefer)
}

func (c *compiler) referred(p place, key string, exact bool, refer func(place, string) (place, error)) (*form, error) {
	name, ok := p.schema.get(key).(string)
	if !ok {
		return nil, fmt.Errorf("%s/%s: expected a text", p.path, key)
	}
	to, err := refer(p, name)
	if err != nil {
		var known *UnsupportedError
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, fmt.Errorf("%s/%s: %w", p.path, key, err)
	}
	return c.form(c.schema(to), exact)
}

// errItself says that a schema refers to itself without progress.
func errItself(p *condition) error {
	return fmt.Errorf("%s: the schema has no end: it refers to itself", p.path())
}

func (c *compiler) enum(p place, _ bool) (*form, error) {
	l, ok := p.schema.get("enum").([]any)
	if !ok {
		return nil, fmt.Errorf("%s/enum: expected a list of values", p.path)
	}
	if len(l) == 0 {
		return nil, fmt.Errorf("%s/enum: no value is in the list", p.path)
	}
	return c.only(l)
}

func (c *compiler) constant(p place, _ bool) (*form, error) {
	return c.only([]any{p.schema.get("const")})
}

// only is the form of a list of values.
func (c *compiler) only(l []any) (*form, error) {
	out := full(0)
	out.typed = true
	out.text = texts{isWords: true}
	for _, v := range l {
		if err := c.Spend(8); err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
			out.null = true
		case bool:
			out.yes, out.no = out.yes || v, out.no || !v
		case string:
			if !slices.Contains(out.text.words, v) {
				out.text.words = append(out.text.words, v)
			}
		case json.Number:
			r, ok := decimal(v)
			if ok {
				_, ok = places(r)
			}
			if !ok {
				return nil, &UnsupportedError{"", "enum", fmt.Sprintf("the number %s has too many digits", v)}
			}
			out.numbers = append(out.numbers, &numeric{low: r, high: r, text: v.String()})
		case []any:
			a := &array{least: len(v), most: len(v), rest: anyValue}
			for _, e := range v {
				a.front = append(a.front, c.value1(e))
			}
			out.arrays = append(out.arrays, a)
		case *object:
			o := &members{most: len(v.keys), least: len(v.keys)}
			for _, k := range v.keys {
				c.name(o, k, c.value1(v.get(k)))
				o.require(k)
			}
			out.objects = append(out.objects, o)
		}
	}
	return out, nil
}

// value1 is the condition of being equal to a value.
func (c *compiler) value1(v any) *condition {
	s := &object{keys: []string{"const"}, values: map[string]any{"const": v}}
	return c.schema(place{schema: s, path: "const", scope: c.root.place.scope})
}

// list is the schemas of a keyword.
func list(s *object, keyword, path string) ([]any, error) {
	l, ok := s.get(keyword).([]any)
	if !ok || len(l) == 0 {
		return nil, fmt.Errorf("%s/%s: expected a list of schemas", path, keyword)
	}
	return l, nil
}

// maxSize is the greatest number that a keyword may ask for.
const maxSize = 1 << 24

// size reads a keyword with a number of things; -1: absent.
func size(s *object, keyword, path string) (int, error) {
	if !s.has(keyword) {
		return -1, nil
	}
	if n, ok := s.get(keyword).(json.Number); ok {
		d, ok := decimal(n)
		switch {
		case !ok && !strings.HasPrefix(n.String(), "-"), ok && d.IsInt() && d.Sign() >= 0 && !(d.Num().IsInt64() && d.Num().Int64() <= maxSize):
			if strings.HasPrefix(keyword, "max") { // no output is that long
				return -1, nil
			}
			return 0, &UnsupportedError{path, keyword, fmt.Sprintf("more than %d", maxSize)}
		case ok && d.IsInt() && d.Sign() >= 0:
			return int(d.Num().Int64()), nil
		}
	}
	return 0, fmt.Errorf("%s/%s: expected a whole number, 0 or more", path, keyword)
}

// bounds reads two such keywords.
func bounds(s *object, least, most, path string) (from, to int, err error) {
	if from, err = size(s, least, path); err != nil {
		return 0, 0, err
	}
	to, err = size(s, most, path)
	return max(from, 0), to, err
}
