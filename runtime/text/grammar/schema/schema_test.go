package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mla/runtime/text/grammar"
	"mla/tools/tests/processor"
)

// vocabulary is the bytes, some longer tokens and an end.
func vocabulary() *grammar.Vocabulary {
	list := []grammar.Token{{End: true}}
	for b := range 256 {
		list = append(list, grammar.Token{Bytes: []byte{byte(b)}})
	}
	for _, text := range []string{`{"`, `":`, `": `, `", "`, `"}`, `}}`, `: "`, `true`, `12`, `0.`, `\u00`, "é", "abc", `a"`, "20", "-0"} {
		list = append(list, grammar.Token{Bytes: []byte(text)})
	}
	return grammar.NewVocabulary(len(list), func(id int32) grammar.Token { return list[id] })
}

var vocab = vocabulary()

func compiled(schema string, o Options) (*grammar.Compiled, error) {
	g, err := Compile(context.Background(), []byte(schema), o)
	if err != nil {
		return nil, err
	}
	return grammar.Compile(context.Background(), g, vocab)
}

func accepts(c *grammar.Compiled, text string) bool {
	m := c.NewMatcher()
	return m.AcceptText([]byte(text)) == nil && m.CanEnd()
}

func validator(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:schema", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

func valid(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return s.Validate(v)
}

// cases are schemas with what they accept and refuse.
var cases = []struct {
	schema  string
	yes, no []string
}{
	{`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}`,
		[]string{`{"a": 1}`, `{"a":1,"b":""}`, "{\n  \"a\": 1\n}"}, []string{`{}`, `{"b": ""}`, `{"a": 1, "c": 2}`, `{"a": 1,}`, `{"a": 1.5}`}},
	{`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {}, "c": {"type": "null"}}}`,
		[]string{`{}`, `{"c": null}`, `{"a": 1, "c": null}`, `{"b": [{}], "c": null}`}, []string{`{"c": null, "a": 1}`, `{, "c": null}`, `{"a": 1 "c": null}`}},
	{`{"properties": {"a": {}, "ab": {}}, "additionalProperties": {"type": "integer"}}`,
		[]string{`{"b": 1}`, `{"a": "x", "abc": 1, "": 2}`, `{"aé": 1}`}, []string{`{"b": "x"}`, `{"b": 1, "a": 2}`, `{"b": 1, "ab": ""}`, `{"\u0061": 1}`}},
	{`{"type": "object", "required": ["x"]}`, []string{`{"x": [1]}`}, []string{`{}`}},
	{`{"type": "object"}`, []string{`{}`, `{"a": {"b": "c"}}`}, []string{`[]`}},
	{`{"type": ["string", "null"]}`, []string{`"a"`, `null`}, []string{`1`}},
	{`{"enum": ["a", 1, null, {"b": [true]}]}`, []string{`"a"`, `1`, `null`, `{"b": [true]}`}, []string{`"b"`, `{}`}},
	{`{"type": "string", "enum": ["a", 1]}`, []string{`"a"`}, []string{`1`}},
	{`{"const": "q\"\\\n"}`, []string{`"q\"\\\n"`}, []string{`"q"`}},
	{`{"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}`, []string{`[true]`, `[true, false]`, "[\n  true\n]"}, []string{`[]`, `[true,false,true]`, `[1]`}},
	{`{"type": "array", "maxItems": 0}`, []string{`[]`, `[ ]`}, []string{`[1]`}},
	{`{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false}`, []string{`[]`, `[1]`, `[1, "a"]`}, []string{`["a"]`, `[1, "a", 2]`}},
	{`{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 3, "maxItems": 4}`, []string{`[1, "a", 2]`, `[1, "a", 2, 3]`}, []string{`[1, "a"]`, `[1,"a",2,3,4]`}},
	{`{"type": "string", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"é\n😀"`}, []string{`"a"`, `"abcd"`, `"\n"`}},
	{`{"type": "string", "pattern": "^a+[0-9]$"}`, []string{`"aa1"`}, []string{`"1"`, `"xa1"`, `"a12"`}},
	{`{"type": "string", "pattern": "b\"."}`, []string{`"ab\"c"`, `"b\"\\x"`, `"b\"\u0001"`}, []string{`"ab"`, `"b\"\n"`}},
	{`{"type": "string", "pattern": "^a|b$"}`, []string{`"ax"`, `"xb"`}, []string{`"xa"`, `"bx"`}},
	{`{"type": "string", "pattern": "(?i)^é$"}`, []string{`"é"`, `"É"`}, []string{`"e"`}},
	{`{"type": "string", "format": "date"}`, []string{`"2024-02-29"`, `"1999-12-31"`}, []string{`"2023-02-29"`, `"2023-04-31"`}},
	{`{"type": "integer", "minimum": 5, "maximum": 123}`, []string{`5`, `9`, `10`, `99`, `100`, `123`}, []string{`4`, `124`, `-5`, `05`, `5.0`}},
	{`{"type": "integer", "exclusiveMinimum": -10, "exclusiveMaximum": 1}`, []string{`-9`, `-1`, `0`}, []string{`-10`, `1`, `-0`}},
	{`{"type": "integer", "minimum": 8}`, []string{`8`, `10`, `9999999`}, []string{`7`, `0`, `-9`}},
	{`{"type": "integer", "multipleOf": 7, "minimum": -30}`, []string{`0`, `7`, `14`, `-28`, `700`}, []string{`1`, `-35`, `71`}},
	{`{"type": "number", "minimum": 1.5, "maximum": 2.25}`, []string{`1.5`, `2`, `2.2`, `2.250`, `1.50001`}, []string{`1`, `1.4`, `2.251`, `2.3`, `3`, `1e0`, `2.`}},
	{`{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}`, []string{`0.5`, `0.000001`, `0.999999`}, []string{`0`, `1`, `0.0`, `1.0`}},
	{`{"type": "number", "multipleOf": 0.01}`, []string{`0.01`, `1.5`, `-3`, `19.99`}, []string{`0.001`, `1.123`}},
	{`{"type": "number", "multipleOf": 2.5}`, []string{`2.5`, `5`, `-7.5`, `10.0`}, []string{`1`, `2.4`, `5.1`}},
	{`{"type": "integer", "multipleOf": 2.5}`, []string{`5`, `0`}, []string{`2`, `4`}},
	{`{"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/s"}], "$defs": {"s": {"type": "string"}}}`, []string{`1`, `"a"`}, []string{`null`}},
	{`{"oneOf": [{"type": "integer"}, {"type": "string"}]}`, []string{`1`, `"a"`}, []string{`null`}},
	{`{"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "b"}, "v": {"type": "null"}}, "required": ["k"]}]}`,
		[]string{`{"k": "a"}`, `{"k": "b", "v": null}`}, []string{`{"k": "a", "v": null}`, `{"k": "c"}`}},
	{`{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false}}}`,
		[]string{`{"v": 1, "next": null}`, `{"v": 1, "next": {"v": 2, "next": null}}`}, []string{`{"v": 1}`}},
	{`{"type": "object", "properties": {"a~b/c": {"type": "null"}, "child": {"$ref": "#"}, "r": {"$ref": "#/properties/a~0b~1c"}}}`, []string{`{"child": {"child": {}}, "r": null}`}, []string{`{"r": 1}`}},
	{`true`, []string{`1`, `[{}]`, `"\ud83d\ude00"`}, []string{``, `"\ud83d"`, `"\ud83dx"`}},
	{`{}`, []string{`null`, `-1.5e-9`}, []string{`1e999`}},
	{`{"allOf": [{"type": "null"}]}`, []string{`null`}, []string{`1`}},
	{`{"type": "object", "properties": {"a": false}}`, []string{`{}`}, []string{`{"a": 1}`}},
	// What zod writes.
	{`{"type": "string", "format": "date", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"}`, []string{`"2024-02-29"`}, []string{`"2023-02-29"`}},
	{`{"type": "string", "format": "uuid", "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$"}`, []string{`"123e4567-e89b-42d3-a456-426614174000"`}, []string{`"123e4567-e89b-92d3-a456-426614174000"`}},
	{`{"type": "string", "format": "base64", "contentEncoding": "base64", "pattern": "^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$"}`, []string{`""`, `"aGk="`}, []string{`"a"`}},
	{`{"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^v.*"}`, []string{`"v"`, `"v1.23"`}, []string{`"x"`, `"v1.2.3"`}},
	{`{"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "number"}}`, []string{`{}`, `{"a": 1}`}, []string{`{"a": "b"}`}},
	{`{"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]}`, []string{`{"a": "x", "b": 1}`}, []string{`{"a": "x"}`, `{"b": 1}`}},
	{`{"oneOf": [{"type": "object", "properties": {"kind": {"const": "cat", "default": "cat"}, "lives": {"type": "integer"}}}, {"type": "object", "properties": {"kind": {"const": "dog", "default": "dog"}, "name": {"type": "string"}}}]}`,
		[]string{`{"kind": "cat", "lives": 9}`, `{"kind": "dog"}`}, []string{`{}`, `{"kind": "cow"}`, `{"kind": "cat", "name": "x"}`}},
	{`{"type": "string", "maxLength": 100000}`, []string{`""`, `"abc"`}, []string{`1`}},
	{`{"type": "string", "minLength": 300, "maxLength": 1000}`, []string{`"` + strings.Repeat("é", 300) + `"`, `"` + strings.Repeat("a", 1000) + `"`}, []string{`"` + strings.Repeat("a", 299) + `"`, `"` + strings.Repeat("a", 1001) + `"`}},
	{`{"type": "array", "items": {"type": "null"}, "minItems": 500, "maxItems": 700}`, []string{"[" + strings.Repeat("null,", 499) + "null]", "[" + strings.Repeat("null,", 699) + "null]"}, []string{"[" + strings.Repeat("null,", 498) + "null]", "[" + strings.Repeat("null,", 700) + "null]"}},
	// Properties.
	{`{"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}`, []string{`{"a": 1, "x-b": "c"}`, `{"x-": ""}`}, []string{`{"b": 1}`, `{"x-a": 1}`}},
	{`{"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3}, "additionalProperties": {"type": "null"}}`, []string{`{"abc": null}`}, []string{`{"abcd": null}`, `{"A": null}`}},
	{`{"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2, "maxProperties": 2, "additionalProperties": false}`, []string{`{"a": 1, "c": 2}`, `{"b": 1, "c": 2}`}, []string{`{"a": 1}`, `{"a": 1, "b": 2, "c": 3}`}},
	{`{"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}`, []string{`{"a": 1}`, `{"a": 1, "b": 2}`}, []string{`{}`}},
	{`{"type": "object", "properties": {"card": {"type": "string"}, "address": {"type": "string"}}, "dependentRequired": {"card": ["address"]}}`, []string{`{}`, `{"address": ""}`, `{"card": "", "address": ""}`}, []string{`{"card": ""}`}},
	{`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "not": {"required": ["a", "b"]}}`, []string{`{"a": 1}`, `{"b": 1}`, `{}`}, []string{`{"a": 1, "b": 2}`}},
	{`{"type": "object", "properties": {"k": {"enum": ["x", "y"]}, "n": {}}, "required": ["k"], "if": {"properties": {"k": {"const": "x"}}}, "then": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}, "else": {"properties": {"n": {"type": "string"}}}}`,
		[]string{`{"k": "x", "n": 1}`, `{"k": "y"}`, `{"k": "y", "n": "a"}`}, []string{`{"k": "x"}`, `{"k": "x", "n": "a"}`, `{"k": "y", "n": 1}`}},
	{`{"type": "object", "not": {"additionalProperties": {"type": "string"}}}`, []string{`{"a": 1}`, `{"a": "b", "c": 1}`}, []string{`{}`, `{"a": "b"}`, `{"a": 1, "a": "b"}`}},
	// Arrays.
	{`{"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true}`, []string{`[]`, `["c", "a"]`, `["a", "b", "c"]`}, []string{`["a", "a"]`, `["a", "b", "a"]`}},
	{`{"type": "array", "items": {"type": ["integer", "string"]}, "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}`, []string{`[1, 2]`, `["a", 1, "b", 2]`, `[1, 2, 3, "a"]`}, []string{`[]`, `[1, "a"]`, `[1, 2, 3, 4]`}},
	// Numbers.
	{`{"type": "number", "not": {"type": "integer"}, "minimum": 0, "maximum": 2}`, []string{`0.5`, `1.9`}, []string{`0`, `1`, `1.0`, `2`}},
	{`{"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "minimum": 0, "maximum": 30}`, []string{`0`, `12`, `24`}, []string{`4`, `6`, `36`}},
	{`{"type": ["string", "number"], "not": {"enum": ["a", 1]}}`, []string{`"b"`, `2`, `1.5`, `"aa"`}, []string{`"a"`, `1`, `1.0`}},
	// References.
	{`{"$id": "https://example.com/root", "properties": {"a": {"$ref": "#here"}, "b": {"$ref": "other"}}, "$defs": {"x": {"$anchor": "here", "type": "integer"}, "y": {"$id": "other", "type": "string"}}}`, []string{`{"a": 1, "b": "c"}`}, []string{`{"a": "c"}`, `{"b": 1}`}},
	{`{"type": "string", "format": "html-selector"}`, []string{`"#a > b"`}, []string{`1`}},
}

// older are schemas that the validator does not read as they are meant: of earlier drafts, or
// with lookaheads.
var older = []struct {
	schema  string
	yes, no []string
}{
	{`{"type": "string", "format": "email", "pattern": "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}`, []string{`"a.b@example.com"`}, []string{`"a..b@example.com"`, `"a@b"`}},
	{`{"type": "integer", "minimum": 3, "exclusiveMinimum": true, "maximum": 5}`, []string{`4`, `5`}, []string{`3`, `6`}},
	{`{"type": "string", "nullable": true}`, []string{`"a"`, `null`}, []string{`1`}},
	{`{"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "dependencies": {"a": ["b"]}}`, []string{`{}`, `{"b": null}`, `{"a": null, "b": null}`}, []string{`{"a": null}`}},
	{`{"$ref": "#/definitions/a", "definitions": {"a": {"type": "null"}}}`, []string{`null`}, []string{`1`}},
	{`{"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "string"}, "maxItems": 2}`, []string{`[]`, `[1]`, `[1, "a"]`}, []string{`["a"]`, `[1, 2]`, `[1, "a", "b"]`}},
}

func TestOlder(t *testing.T) {
	for _, c := range older {
		g, err := compiled(c.schema, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		for _, text := range c.yes {
			if !accepts(g, text) {
				t.Errorf("%s refuses %s", c.schema, text)
			}
		}
		for _, text := range c.no {
			if accepts(g, text) {
				t.Errorf("%s accepts %s", c.schema, text)
			}
		}
	}
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		g, err := compiled(c.schema, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		s := validator(t, c.schema)
		for _, text := range c.yes {
			if !accepts(g, text) {
				t.Errorf("%s refuses %s", c.schema, text)
			}
			if err := valid(t, s, text); err != nil {
				t.Errorf("the case is wrong: %v", err)
			}
		}
		for _, text := range c.no {
			if accepts(g, text) {
				t.Errorf("%s accepts %s", c.schema, text)
			}
		}
	}
}

// TestRandom writes texts at random as grammars allow, and validates them.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	schemas := []string{}
	for _, c := range cases {
		schemas = append(schemas, c.schema)
	}
	for name := range formats {
		schemas = append(schemas, `{"type": "string", "format": "`+name+`"}`)
	}
	for _, schema := range schemas {
		g, err := compiled(schema, Options{})
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		s := validator(t, schema)
		finished := 0
		for range 30 {
			text, ended, err := write(rng, g, 400)
			if err != nil {
				t.Fatalf("%s: %v", schema, err)
			}
			if !ended {
				continue
			}
			finished++
			if err := valid(t, s, text); err != nil {
				t.Errorf("%s allows %s: %v", schema, text, err)
			}
		}
		if finished == 0 && !strings.Contains(schema, "b\\\"") && !strings.Contains(schema, "00}") { // which no short text at random has
			t.Errorf("%s: no text came to its end", schema)
		}
	}
}

// write writes tokens at random, the end as soon as it is allowed in half of the cases.
func write(rng *rand.Rand, g *grammar.Compiled, most int) (text string, ended bool, err error) {
	m := g.NewMatcher()
	var out []byte
	for range most {
		if m.CanEnd() && (m.MustEnd() || rng.IntN(2) == 0) {
			return string(out), true, nil
		}
		mask, err := m.Mask()
		if err != nil {
			return "", false, err
		}
		var ids []int32
		closing := rng.IntN(2) == 0
		for id := int32(1); id < int32(32*len(mask)); id++ {
			if grammar.Allows(mask, id) {
				ids = append(ids, id)
				if b := byte(id - 1); closing && id <= 256 && (b == '"' || b == '}' || b == ']') {
					ids = []int32{id}
					break
				}
			}
		}
		if len(ids) == 0 {
			return "", false, fmt.Errorf("nothing may follow %q", out)
		}
		id := ids[rng.IntN(len(ids))]
		if err := m.Accept(id); err != nil {
			return "", false, err
		}
		out = append(out, vocab.Bytes(id)...)
	}
	return "", false, nil
}

func TestUnsupported(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"properties": {"a": {"type": "array", "uniqueItems": true}}}`, `#/properties/a: the keyword "uniqueItems"`},
		{`{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}`, `at most 8 values`},
		{`{"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "email"}]}`, `#: the keyword "oneOf" is not supported`},
		{`{"not": {"properties": {"a": {"not": {"uniqueItems": true}}}}}`, `"uniqueItems" is not supported`},
		{`{"properties": {"a": {"type": "string", "pattern": "(?<=a)x"}}}`, `#/properties/a: the keyword "pattern" is not supported: lookbehinds`},
		{`{"type": "string", "pattern": "(a)\\1"}`, `"pattern" is not supported: references`},
		{`{"type": "string", "pattern": "(((a{1000}){1000}){1000})"}`, `"pattern" is not supported: too large`},
		{`{"type": "string", "pattern": "(x|y)*x(x|y){40}"}`, `"pattern" is not supported: too large`},
		{`{"type": "object", "patternProperties": {"(?<=a)x": {}}}`, `"patternProperties" is not supported`},
		{`{"multipleOf": 1e-40}`, `"multipleOf" is not supported`},
		{`{"properties": {"a": {"type": "integer", "multipleOf": 1000}}}`, `#/properties/a: the keyword "multipleOf" is not supported`},
		{`{"$ref": "https://example.com/x"}`, `"$ref" is not supported`},
		{`{"type": "array", "minItems": 99999999999}`, `"minItems" is not supported: more than`},
		{`{"type": "object", "minProperties": 3}`, `"minProperties" is not supported`},
		{`{"properties": {"a": {"type": "integer", "minimum": 1e20}}}`, `#/properties/a: the keyword "minimum" is not supported: no number of 16 digits`},
		{`{"type": "number", "maximum": -1e16}`, `no number of 16 digits`},
		{`{"properties": {"a": {"required": true}}}`, `#/properties/a: the keyword "required" is not supported: expected a list of names`},
		{`{"required": ["a", 1]}`, `"required" is not supported`},
		{`{"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": [1]}}`, `expected a list of names`},
	} {
		_, err := compiled(c.schema, Options{})
		var known *UnsupportedError
		if !errors.As(err, &known) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %s", c.schema, err, c.want)
		}
		if strings.Contains(c.schema, "minItems") {
			continue
		}
		passed := 0
		if _, err := compiled(c.schema, Options{Lenient: true, Passed: func(*UnsupportedError) { passed++ }}); err != nil || passed != 1 {
			t.Errorf("%s: %v, %d passed over, though lenient", c.schema, err, passed)
		}
	}
}

// TestNull: null is how Go writes a map or a list that is not set.
func TestNull(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		if _, err := compiled(`{"type": "object", "properties": null, "required": null}`, Options{Lenient: lenient}); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200)
	for _, c := range []struct{ schema, want string }{
		{``, "not JSON"}, {`{`, "not JSON"}, {`{} {}`, "something follows"}, {deep, "more than 100 levels"},
		{`1`, "#: expected a schema"}, {`{"type": "text"}`, "#/type: expected one of"}, {`{"type": []}`, "an empty list"},
		{`{"properties": 1}`, "expected an object"}, {`{"properties": {"a": 1}}`, "#/properties/a: expected a schema"},
		{`{"anyOf": []}`, "expected a list"}, {`{"enum": 1}`, "expected a list"}, {`{"enum": []}`, "no value"},
		{`{"minItems": -1}`, "expected a whole number"}, {`{"minItems": 1.5}`, "expected a whole number"},
		{`{"type": "string", "minLength": 3, "maxLength": 2}`, "has no end"}, {`{"not": {}}`, "has no end"}, {`false`, "has no end"},
		{`{"minimum": "a"}`, "expected a number"}, {`{"minimum": 3, "maximum": 2}`, "no number"},
		{`{"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}`, "has no end"}, {`{"multipleOf": 0}`, "above 0"},
		{`{"$ref": "#/$defs/x"}`, `there is no "#/$defs/x"`}, {`{"$ref": "#"}`, "has no end"},
		{`{"required": ["a"], "additionalProperties": false}`, `the required property "a"`},
		{`{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`, "has no end"},
	} {
		start := processor.Time(t)
		_, err := compiled(c.schema, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v; expected %s", c.schema, err, c.want)
		}
		if took := processor.Time(t) - start; took > 20*time.Second {
			t.Errorf("%.100s took %v", c.schema, took)
		}
	}
}

// TestNesting doubles nothing with depth.
func TestNesting(t *testing.T) {
	s := `{"type": "null"}`
	for range 40 {
		s = `{"type": "object", "properties": {"a": ` + s + `, "b": {"type": "integer"}}}`
	}
	if _, err := compiled(s, Options{}); err != nil {
		t.Error(err)
	}
}

func TestObject(t *testing.T) {
	c, err := grammar.Compile(t.Context(), Object(), vocab)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`{}`: true, `{"a": [1, {"b": null}]}`: true, `[]`: false, `1`: false, ``: false, `{"a"}`: false} {
		if accepts(c, text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// FuzzCompile takes anything for a schema, and what is written by it is JSON.
func FuzzCompile(f *testing.F) {
	for _, c := range cases {
		f.Add(c.schema)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if len(schema) > 1<<12 {
			return
		}
		c, err := compiled(schema, Options{Lenient: true})
		if err != nil {
			return
		}
		text, ended, err := write(rand.New(rand.NewPCG(1, 1)), c, 100)
		if err == nil && ended && !json.Valid([]byte(text)) {
			t.Errorf("%s allows %q", schema, text)
		}
	})
}
