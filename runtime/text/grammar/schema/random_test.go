package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	tier "mla/tools/tests/deep"

	"mla/tools/tests/processor"
)

// maker makes schemas at random, of all keywords that can stand together.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m maker) schema(depth int) map[string]any {
	s := map[string]any{}
	if m.IntN(4) > 0 {
		s["type"] = m.pick("object", "array", "string", "integer", "number", "boolean", "null", "object", "array", "string")
	}
	set := func(chance int, key string, v func() any) {
		if m.IntN(chance) == 0 {
			s[key] = v()
		}
	}
	number := func() any { return m.IntN(5) }
	sub := func() any {
		if depth == 0 {
			return m.IntN(4) > 0
		}
		return m.schema(depth - 1)
	}
	list := func() any { return []any{sub(), sub()}[:1+m.IntN(2)] }
	names := func() any {
		o := map[string]any{}
		for range 1 + m.IntN(3) {
			o[m.pick("a", "b", "c", "ab")] = sub()
		}
		return o
	}
	switch s["type"] {
	case "object":
		set(1, "properties", names)
		set(2, "required", func() any { return []any{m.pick("a", "b", "c")} })
		set(3, "additionalProperties", sub)
		set(5, "patternProperties", func() any { return map[string]any{m.pick("^a", "b$", "c"): sub()} })
		set(6, "propertyNames", func() any { return map[string]any{"pattern": m.pick("^a", "b", "^[a-c]+$")} })
		set(6, "minProperties", func() any { return m.IntN(2) })
		set(6, "maxProperties", number)
		set(8, "dependentRequired", func() any { return map[string]any{"a": []any{"b"}} })
		set(8, "unevaluatedProperties", func() any { return m.IntN(2) == 0 })
	case "array":
		set(2, "items", sub)
		set(4, "prefixItems", list)
		set(4, "minItems", func() any { return m.IntN(3) })
		set(4, "maxItems", func() any { return 2 + m.IntN(3) })
		set(6, "contains", sub)
		set(8, "unevaluatedItems", sub)
	case "string":
		set(3, "pattern", func() any { return m.pick("^a", "b", "^[a-c]+$", "(a|b)*c", `\bx`) })
		set(4, "minLength", func() any { return m.IntN(3) })
		set(4, "maxLength", func() any { return 3 + m.IntN(3) })
		set(8, "format", func() any { return m.pick("date", "uuid", "ipv4", "email") })
	case "integer", "number":
		set(3, "minimum", func() any { return m.IntN(20) - 10 })
		set(3, "exclusiveMaximum", func() any { return 5 + m.IntN(200) })
		set(3, "multipleOf", func() any { return 1 + m.IntN(4) })
	}
	if depth > 0 {
		set(6, "anyOf", list)
		set(8, "allOf", list)
		set(8, "oneOf", list)
		set(10, "not", sub)
		if m.IntN(10) == 0 {
			s["if"], s["then"], s["else"] = sub(), sub(), sub()
		}
	}
	set(8, "enum", func() any { return []any{"a", 1, nil, true, map[string]any{"a": 1}, "abc"} })
	set(12, "const", func() any { return m.pick("a", "b") })
	return s
}

// enoughTexts is how many texts another library looks at.
func enoughTexts() int {
	if tier.On {
		return 10_000
	}
	return 400
}

// TestRandomSchemas: whatever a strict grammar allows is valid by another library.
func TestRandomSchemas(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	schemas, texts := 0, 0
	for n := 0; n < 400 || texts < enoughTexts(); n++ {
		if n > 2*enoughTexts() {
			t.Fatalf("%d schemas of %d, %d texts: too little is held", schemas, n, texts)
		}
		text, err := json.Marshal(maker{rng}.schema(2))
		if err != nil {
			t.Fatal(err)
		}
		start := processor.Time(t)
		g, err := compiled(string(text), Options{})
		if took := processor.Time(t) - start; took > 5*time.Second {
			t.Errorf("%s took %v", text, took)
		}
		if _, lenient := compiled(string(text), Options{Lenient: true}); lenient != nil && !strings.Contains(lenient.Error(), "no end") && !strings.Contains(lenient.Error(), "no number") && !strings.Contains(lenient.Error(), "is not declared") {
			t.Errorf("%s: %v, though lenient", text, lenient)
		}
		if err != nil {
			continue
		}
		schemas++
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
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
			t.Fatalf("%s: %v", text, err)
		}
		for range 4 {
			out, ended, err := write(rng, g, 120)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !ended {
				continue
			}
			texts++
			if err := valid(t, s, out); err != nil {
				t.Errorf("%s allows %s: %v", text, out, err)
			}
		}
	}
	t.Logf("%d schemas, %d texts", schemas, texts)
}

// real are schemas as tools and files have them.
var real = map[string]string{
	"package.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"person": {"type": ["object", "string"], "required": ["name"], "properties": {"name": {"type": "string"}, "url": {"type": "string", "format": "uri"}}}, "dependency": {"type": "object", "additionalProperties": {"type": "string"}}},
		"type": "object", "patternProperties": {"^_": {"tsType": "any"}}, "properties": {"name": {"type": "string", "maxLength": 214, "minLength": 1, "pattern": "^(?:(?:@(?:[a-z0-9-*~][a-z0-9-*._~]*)?/[a-z0-9-._~])|[a-z0-9-~])[a-z0-9-._~]*$"}, "author": {"$ref": "#/definitions/person"}, "private": {"anyOf": [{"type": "boolean"}, {"enum": ["false", "true"]}]},
		"dependencies": {"$ref": "#/definitions/dependency"}, "type": {"enum": ["commonjs", "module"], "default": "commonjs"}, "engines": {"type": "object", "properties": {"node": {"type": "string"}}, "additionalProperties": {"type": "string"}}}, "anyOf": [{"type": "object", "not": {"required": ["bundledDependencies", "bundleDependencies"]}}, {"type": "object", "required": ["bundleDependencies"], "not": {"required": ["bundledDependencies"]}}]}`,
	"workflow": `{"type": "object", "required": ["on", "jobs"], "additionalProperties": false, "properties": {"name": {"type": "string"}, "on": {"oneOf": [{"$ref": "#/definitions/event"}, {"type": "array", "items": {"$ref": "#/definitions/event"}, "minItems": 1}]},
		"jobs": {"type": "object", "patternProperties": {"^[_a-zA-Z][a-zA-Z0-9_-]*$": {"oneOf": [{"$ref": "#/definitions/normal"}, {"$ref": "#/definitions/reusable"}]}}, "minProperties": 1, "additionalProperties": false}},
		"definitions": {"event": {"type": "string", "enum": ["push", "pull_request", "release"]}, "normal": {"type": "object", "required": ["runs-on"], "properties": {"runs-on": {"type": "string"}, "steps": {"type": "array", "items": {"type": "object", "properties": {"run": {"type": "string"}, "uses": {"type": "string"}}, "dependencies": {"run": ["uses"]}}}}, "additionalProperties": false}, "reusable": {"type": "object", "properties": {"uses": {"type": "string", "pattern": "^(.+\\/)+(.+)\\.(ya?ml)(@.+)?$"}}, "required": ["uses"], "additionalProperties": false}}}`,
	"zod":      `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"id": {"type": "string", "format": "uuid", "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$"}, "at": {"type": "string", "format": "date-time", "pattern": "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z))$"}, "ip": {"type": "string", "format": "ipv4", "pattern": "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$"}, "tags": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "string"}}, "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, "n": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}}, "required": ["id", "at", "ip", "tags", "pair", "n"], "additionalProperties": false}`,
	"pydantic": `{"$defs": {"Cat": {"properties": {"kind": {"const": "cat", "default": "cat", "title": "Kind", "type": "string"}, "lives": {"title": "Lives", "type": "integer"}}, "required": ["lives"], "title": "Cat", "type": "object"}, "Dog": {"properties": {"kind": {"const": "dog", "default": "dog", "title": "Kind", "type": "string"}, "name": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}, "title": "Dog", "type": "object"}}, "properties": {"pet": {"discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"}, "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}, "price": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}]}}, "required": ["pet", "price"], "title": "Owner", "type": "object"}`,
	"openapi":  `{"type": "object", "properties": {"age": {"type": "integer", "format": "int32", "minimum": 0, "exclusiveMinimum": true}, "name": {"type": "string", "nullable": true}, "status": {"type": "string", "enum": ["available", "sold"]}, "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5}, "data": {"type": "string", "format": "byte"}}, "required": ["age"]}`,
	"tree":     `{"$id": "https://example.com/tree", "$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"value": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["value"], "unevaluatedProperties": false}}}`,
	"filter":   `{"type": "object", "properties": {"where": {"$ref": "#/$defs/expr"}}, "required": ["where"], "$defs": {"expr": {"anyOf": [{"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/expr"}, "minItems": 1}}, "required": ["and"], "additionalProperties": false}, {"type": "object", "properties": {"field": {"type": "string", "minLength": 1}, "op": {"enum": ["=", "<", ">"]}, "value": {"type": ["string", "number", "boolean", "null"]}}, "required": ["field", "op", "value"], "additionalProperties": false}]}}}`,
	"eslint":   `{"type": "array", "minItems": 1, "items": [{"enum": ["always", "never", 0, 1]}, {"type": "object", "properties": {"before": {"type": "boolean"}, "exceptions": {"type": "array", "items": {"enum": ["{}", "[]", "()"]}, "uniqueItems": true}}, "additionalProperties": false}], "additionalItems": false}`,
}

// TestReal: schemas as they are met are held, and quickly.
func TestReal(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for name, text := range real {
		g, err := compiled(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ended := 0
		for range 10 {
			out, whole, err := write(rng, g, 600)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if whole {
				ended++
				if !json.Valid([]byte(out)) {
					t.Errorf("%s allows %s", name, out)
				}
			}
		}
		if ended == 0 {
			t.Errorf("%s: no text came to its end", name)
		}
	}
}

// TestHostileSchemas take bounded time, whatever they ask for.
func TestHostileSchemas(t *testing.T) {
	many := func(n int, one string, with string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(one, i))
		}
		return fmt.Sprintf(with, strings.Join(list, ","))
	}
	for name, text := range map[string]string{
		"oneOf of many":       many(200, `{"properties": {"a%d": {"type": "string"}}}`, `{"type": "object", "oneOf": [%s]}`),
		"allOf of anyOf":      many(30, `{"anyOf": [{"required": ["a%[1]d"]}, {"required": ["b%[1]d"]}]}`, `{"type": "object", "allOf": [%s]}`),
		"dependentRequired":   many(60, `"a%d": ["x"]`, `{"type": "object", "dependentRequired": {%s}}`),
		"patternProperties":   many(60, `"a.*%d": {"type": "integer"}`, `{"type": "object", "patternProperties": {%s}}`),
		"long strings":        many(40, `"a%d": {"type": "string", "maxLength": 9000}`, `{"properties": {%s}}`),
		"patterns and length": many(40, `"a%d": {"type": "string", "pattern": "^(a|b)*$", "maxLength": 3000}`, `{"properties": {%s}}`),
		"many properties":     many(3000, `"a%d": {"type": "integer"}`, `{"type": "object", "properties": {%s}, "additionalProperties": {"type": "null"}}`),
		"large enum":          many(5000, `"value %d"`, `{"enum": [%s]}`),
		"prefixItems":         many(3000, `{"type": ["integer", "null"], "minimum": %d}`, `{"prefixItems": [%s]}`),
		"contains":            `{"type": "array", "contains": {"type": "integer"}, "minContains": 5000}`,
		"not of not":          strings.Repeat(`{"not": `, 90) + `{"required": ["a"]}` + strings.Repeat("}", 90),
		"doubled references":  many(60, `"d%[1]d": {"allOf": [{"$ref": "#/$defs/d%[1]d/x"}, {"$ref": "#/$defs/d%[1]d/x"}], "x": {"type": "integer"}}`, `{"$ref": "#/$defs/d0", "$defs": {%s}}`),
		"one in the other":    `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`,
		"a product":           `{"type": "string", "allOf": [{"pattern": "^(a{7})*$"}, {"pattern": "^(a{11})*$"}, {"pattern": "^(a{13})*$"}, {"pattern": "^(a{17})*$"}]}`,
	} {
		for _, o := range []Options{{}, {Lenient: true}} {
			start := processor.Time(t)
			_, err := compiled(text, o)
			if took := processor.Time(t) - start; took > 5*time.Second {
				t.Errorf("%s took %v (%.200v)", name, took, err)
			}
			var known *UnsupportedError
			if o.Lenient && errors.As(err, &known) {
				t.Errorf("%s: %v, though lenient", name, err)
			}
		}
	}
}
