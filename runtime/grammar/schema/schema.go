// Package schema makes grammars of JSON Schemas: what follows the grammar is valid by the
// schema.
//
// The other way round there are limits, as in other engines. Properties come in the order
// of the schema; further ones only if additionalProperties says so, or if none are
// declared; white space is a blank or a line break with its indent; numbers have at most
// 16 digits in front of the point. A schema without type means the types that its keywords
// are about.
//
// The keywords are those that OpenAI documents for structured outputs, and prefixItems,
// minLength, maxLength, and oneOf where its alternatives cannot both be met. Others that
// restrict values are an *UnsupportedError, or without effect if the caller is lenient.
package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/grammar"
)

// UnsupportedError names a keyword that no grammar can be made of.
type UnsupportedError struct {
	Path    string // of the schema that has it, as a JSON pointer
	Keyword string
	Why     string // may be empty
}

func (e *UnsupportedError) Error() string {
	text := fmt.Sprintf("%s: the keyword %q is not supported", e.Path, e.Keyword)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Options say how strict a schema is taken.
type Options struct {
	// Lenient leaves keywords without effect that are not supported.
	Lenient bool
}

// Compile makes a grammar of a schema, which is JSON text.
func Compile(text []byte, o Options) (*grammar.Grammar, error) {
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	c := newCompiler(root, o)
	start := c.g.Add("root", nil)
	e, err := c.at(root, "#")
	if err != nil {
		return nil, err
	}
	c.g.Rules[start].Expr = e
	return c.g, nil
}

// Object is the grammar of any JSON object.
func Object() *grammar.Grammar {
	c := newCompiler(true, Options{})
	start := c.g.Add("root", nil)
	c.g.Rules[start].Expr = c.anyObject()
	return c.g
}

// compiler makes rules of schemas.
type compiler struct {
	Options
	g      *grammar.Grammar
	root   any
	refs   map[string]grammar.Ref // by JSON pointer
	shared map[string]grammar.Ref // by name
	digits map[digitState]grammar.Ref
	bare   grammar.Class // what strings without quotes are made of; nil: they are JSON
}

func newCompiler(root any, o Options) *compiler {
	return &compiler{Options: o, g: &grammar.Grammar{}, root: root, refs: map[string]grammar.Ref{}, shared: map[string]grammar.Ref{}, digits: map[digitState]grammar.Ref{}}
}

// share is a rule that is made once.
func (c *compiler) share(name string, make func() grammar.Expr) grammar.Expr {
	r, ok := c.shared[name]
	if !ok {
		r = c.g.Add(name, nil)
		c.shared[name] = r
		c.g.Rules[r].Expr = make()
	}
	return r
}

// unsupported is nil if the caller is lenient.
func (c *compiler) unsupported(path, keyword, format string, args ...any) error {
	if c.Lenient {
		return nil
	}
	return &UnsupportedError{path, keyword, fmt.Sprintf(format, args...)}
}

// nothing matches no text.
var nothing = grammar.Alt{}

// at is the grammar of a schema at a path.
func (c *compiler) at(v any, path string) (grammar.Expr, error) {
	switch s := v.(type) {
	case bool:
		if s {
			return c.value(), nil
		}
		return nothing, nil
	case *object:
		return c.object(s, path)
	}
	return nil, fmt.Errorf("%s: expected a schema, which is an object", path)
}

// rule is the grammar of a schema as a rule of its own, which repetitions can name cheaply.
func (c *compiler) rule(v any, path string) (grammar.Expr, error) {
	e, err := c.at(v, path)
	if _, named := e.(grammar.Ref); err != nil || named {
		return e, err
	}
	return c.g.Add(path, e), nil
}

// alone are keywords that decide alone what a schema means, in the order in which they are
// looked for.
var alone = []string{"$ref", "allOf", "anyOf", "oneOf", "const", "enum"}

// decided is the grammar that one of them gives.
func (c *compiler) decided(keyword string, s *object, path string) (grammar.Expr, error) {
	switch keyword {
	case "$ref":
		return c.ref(s, path)
	case "allOf":
		return c.allOf(s, path)
	case "anyOf":
		return c.alternatives(s, keyword, path)
	case "oneOf":
		return c.oneOf(s, path)
	case "const":
		return c.values(s, []any{s.get(keyword)}, path)
	}
	return c.enum(s, path)
}

// refused are keywords that restrict values of every type and have no grammar.
var refused = []string{"not", "if", "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"}

// object is the grammar of a schema with keywords.
func (c *compiler) object(s *object, path string) (grammar.Expr, error) {
	for _, k := range refused {
		if s.has(k) {
			if err := c.unsupported(path, k, ""); err != nil {
				return nil, err
			}
		}
	}
	if s.has("$id") && path != "#" {
		if err := c.unsupported(path, "$id", "only the root may have one"); err != nil {
			return nil, err
		}
	}
	for _, k := range alone {
		if !s.has(k) {
			continue
		}
		if other := beside(s, k); other != "" {
			if err := c.unsupported(path, k, "together with %s", other); err != nil {
				return nil, err
			}
		}
		return c.decided(k, s, path)
	}
	return c.typed(s, path)
}

// beside is a keyword that restricts values as well, "" if there is none. The types beside
// values are looked at when these are.
func beside(s *object, keyword string) string {
	for _, k := range s.keys {
		_, typed := typeOf[k]
		values := keyword == "enum" || keyword == "const"
		if k != keyword && (typed || slices.Contains(alone, k) || k == "type" && !values) {
			return k
		}
	}
	return ""
}

// ref is what a pointer names.
func (c *compiler) ref(s *object, path string) (grammar.Expr, error) {
	name, ok := s.get("$ref").(string)
	if !ok || name != "#" && !strings.HasPrefix(name, "#/") {
		return nil, &UnsupportedError{path, "$ref", "expected a pointer into the schema, as #/$defs/name"}
	}
	if r, ok := c.refs[name]; ok {
		return r, nil
	}
	to, err := resolve(c.root, name)
	if err != nil {
		return nil, fmt.Errorf("%s/$ref: %w", path, err)
	}
	r := c.g.Add(name, nil)
	c.refs[name] = r
	e, err := c.at(to, name)
	if err == nil {
		c.g.Rules[r].Expr = e
	}
	return r, err
}

// list are the schemas of a keyword.
func list(s *object, keyword, path string) ([]any, error) {
	l, ok := s.get(keyword).([]any)
	if !ok || len(l) == 0 {
		return nil, fmt.Errorf("%s/%s: expected a list of schemas", path, keyword)
	}
	return l, nil
}

// allOf is supported of one schema, which some tools write around a $ref.
func (c *compiler) allOf(s *object, path string) (grammar.Expr, error) {
	l, err := list(s, "allOf", path)
	if err != nil {
		return nil, err
	}
	if len(l) > 1 {
		if err := c.unsupported(path, "allOf", "of several schemas"); err != nil {
			return nil, err
		}
	}
	return c.at(l[0], path+"/allOf/0")
}

// oneOf is anyOf where at most one of the alternatives can be met.
func (c *compiler) oneOf(s *object, path string) (grammar.Expr, error) {
	l, err := list(s, "oneOf", path)
	if err != nil {
		return nil, err
	}
	for i, a := range l {
		for _, b := range l[:i] {
			if !c.apart(a, b) {
				if err := c.unsupported(path, "oneOf", "its alternatives are not certain to exclude each other by type or by a required constant; use anyOf"); err != nil {
					return nil, err
				}
			}
		}
	}
	return c.alternatives(s, "oneOf", path)
}

func (c *compiler) alternatives(s *object, keyword, path string) (grammar.Expr, error) {
	l, err := list(s, keyword, path)
	if err != nil {
		return nil, err
	}
	var all grammar.Alt
	for i, a := range l {
		e, err := c.rule(a, path+"/"+keyword+"/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (c *compiler) enum(s *object, path string) (grammar.Expr, error) {
	l, ok := s.get("enum").([]any)
	if !ok {
		return nil, fmt.Errorf("%s/enum: expected a list of values", path)
	}
	return c.values(s, l, path)
}

// values are those of a list that have the schema's type.
func (c *compiler) values(s *object, l []any, path string) (grammar.Expr, error) {
	types, err := typesOf(s, path)
	if err != nil {
		return nil, err
	}
	var all grammar.Alt
	for _, v := range l {
		if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return hasType(v, t) }) {
			all = append(all, c.literal(v))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no value has the type that is asked for", path)
	}
	return all, nil
}
