package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mla/runtime/serve/completion/completiontest"
)

// structuredChats are answers that leave their grammar at the end.
var structuredChats = []completiontest.Answer{
	{To: "City?", Text: "A city.</think>{\"city\": \"Zürich\", \"days\": 3} and more"},
	{To: "Talk?", Text: "I talk.</think>No, I do not write JSON."},
	{To: "Never.", Text: ""},
}

const citySchema = `{"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}, "days": {"type": "integer", "minimum": 1, "maximum": 400}}, "required": ["city", "days"], "additionalProperties": false}`

// answer sends a request and returns the answer. It fails the test if there is none.
func (s *served) answer(path, body string) map[string]any {
	s.Helper()
	r, text := s.do(http.MethodPost, path, body)
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); r.StatusCode != http.StatusOK || err != nil {
		s.Fatalf("%s %s: %d %s", path, body, r.StatusCode, text)
	}
	return out
}

// at returns the value at a path of keys and indices.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// TestStructured checks the same structured answer in every way to ask for one.
func TestStructured(t *testing.T) {
	s := serve(t, nil, structuredChats...)
	user := `"messages": [{"role": "user", "content": "City?"}]`
	gbnf, err := json.Marshal("root ::= \"{\" [^}]* \"}\"")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"city": "Zürich", "days": 3}`
	for _, c := range []struct {
		path, body string
		answer     []any
	}{
		{"/v1/chat/completions", `{` + user + `, "response_format": {"type": "json_object"}}`, []any{"choices", 0, "message", "content"}},
		{"/v1/chat/completions", `{` + user + `, "response_format": {"type": "json_schema", "json_schema": {"name": "city", "strict": true, "schema": ` + citySchema + `}}}`, []any{"choices", 0, "message", "content"}},
		{"/v1/chat/completions", `{` + user + `, "response_format": {"type": "json_object", "schema": ` + citySchema + `}}`, []any{"choices", 0, "message", "content"}},
		{"/v1/chat/completions", `{` + user + `, "json_schema": ` + citySchema + `}`, []any{"choices", 0, "message", "content"}},
		{"/v1/chat/completions", `{` + user + `, "logprobs": true, "grammar": ` + string(gbnf) + `}`, []any{"choices", 0, "message", "content"}},
		{"/v1/responses", `{"input": "City?", "text": {"format": {"type": "json_schema", "name": "city", "strict": true, "schema": ` + citySchema + `}}}`, []any{"output", 1, "content", 0, "text"}},
		{"/v1/messages", `{"max_tokens": 300, ` + user + `, "output_config": {"format": {"type": "json_schema", "schema": ` + citySchema + `}}}`, []any{"content", 0, "text"}},
	} {
		out := s.answer(c.path, c.body)
		if got := at(out, c.answer...); got != want {
			t.Errorf("%s: %v; expected %s (%v)", c.body, got, want, out)
		}
		if reasoning := at(out, "choices", 0, "message", "reasoning_content"); c.answer[0] == "choices" && reasoning != "A city." {
			t.Errorf("%s: the thoughts are %v", c.body, reasoning)
		}
		if finish := at(out, "choices", 0, "finish_reason"); c.answer[0] == "choices" && finish != "stop" {
			t.Errorf("%s: it ended for %v", c.body, finish)
		}
	}
}

// TestStructuredAgainstItsWill checks that a model which would write something else writes JSON.
func TestStructuredAgainstItsWill(t *testing.T) {
	s := serve(t, nil, structuredChats...)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(citySchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:city", v); err != nil {
		t.Fatal(err)
	}
	city, err := c.Compile("mem:city")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range 30 {
		out := s.answer("/v1/chat/completions", fmt.Sprintf(`{"messages": [{"role": "user", "content": "Talk?"}], "temperature": 2, "seed": %d, "max_tokens": 400, "n": 2, "reasoning_budget": 20,
			"response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": %s}}}`, seed, citySchema))
		for i := range 2 {
			text, _ := at(out, "choices", i, "message", "content").(string)
			if at(out, "choices", i, "finish_reason") != "stop" {
				t.Errorf("seed %d: not finished: %q", seed, text)
				continue
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err == nil {
				err = city.Validate(v)
			}
			if err != nil {
				t.Errorf("seed %d: %q: %v", seed, text, err)
			}
		}
	}
}

// TestStructuredErrors checks that bad formats are refused before anything runs.
func TestStructuredErrors(t *testing.T) {
	s := serve(t, nil, structuredChats...)
	for _, c := range []struct{ fields, param, want string }{
		{`"response_format": {"type": "xml"}`, "response_format", "expected text, json_object or json_schema"},
		{`"response_format": {"type": "json_schema"}`, "response_format", "there is no schema"},
		{`"response_format": {"type": "json_schema", "json_schema": {"strict": true, "schema": {"type": "array", "uniqueItems": true}}}`, "response_format.json_schema.schema", `the keyword \"uniqueItems\" is not supported`},
		{`"response_format": {"type": "json_schema", "json_schema": {"strict": true, "schema": {"not": {}}}}`, "response_format.json_schema.schema", `no text follows it`},
		{`"grammar": "root ::= \"a\" <nope>"`, "grammar", "the control token <nope> is not in the model's vocabulary"},
		{`"grammar": "root ::= ((\"\"{65536} \"a\"){65536}){65536}"`, "grammar", "too large"},
		{`"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "text"}}}`, "response_format.json_schema.schema", "#/type: expected one of"},
		{`"json_schema": 3`, "json_schema", "expected a schema"},
		{`"grammar": "root ::= x"`, "grammar", "1:10: the rule x is not there"},
		{`"grammar": "root ::= root \"a\" | \"b\""`, "grammar", "left recursion"},
		{`"grammar": "root ::= \"a\"", "json_schema": {}`, "grammar", "only one of"},
		{`"grammar": 3`, "grammar", "expected"},
	} {
		r, text := s.do(http.MethodPost, "/v1/chat/completions", `{"messages": [{"role": "user", "content": "City?"}], `+c.fields+`}`)
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(text, c.want) || !strings.Contains(text, `"param":"`+c.param+`"`) {
			t.Errorf("%s: %d %s", c.fields, r.StatusCode, text)
		}
	}
	lenient := `{"messages": [{"role": "user", "content": "City?"}], "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "minProperties": 1}}}}`
	if got := at(s.answer("/v1/chat/completions", lenient), "choices", 0, "message", "content"); got != `{"city": "Zürich", "days": 3}` {
		t.Errorf("a schema that is not strict: %v", got)
	}
	// A completion has no thoughts; the grammar begins at once, and ends with ignore_eos, too.
	if got := at(s.answer("/v1/completions", `{"prompt": "Never.", "ignore_eos": true, "max_tokens": 50, "grammar": "root ::= \"ab\" [c]?"}`), "choices", 0, "text"); got != "ab" && got != "abc" {
		t.Errorf("a completion: %v", got)
	}
}

// toolChats are calls whose arguments do not follow the schema of toolSchema.
var toolChats = []completiontest.Answer{
	{To: "Any?", Text: "I ask.</think>Well.\n<tool_call>weather<arg_key>city</arg_key><arg_value>Zürich \"old\"</arg_value><arg_key>days</arg_key><arg_value>many</arg_value></tool_call>"},
	{To: "Call?", Text: "I ask.</think><tool_call>weather<arg_key>city</arg_key><arg_value>Zürich"},
	{To: "Must?", Text: "<tool_call>weather<arg_key>town</arg_key><arg_value>Zürich</arg_value></tool_call>"},
	{To: "JSON?", Text: "x</think>{\"city\": \"Zürich\", \"days\": 3} and more"},
	{To: "Else?", Text: "x</think>text"},
	{To: "Two?", Text: "x</think><tool_call>now</tool_call>And some text after it."},
	{To: "Undeclared?", Text: "x</think><tool_call>nobody<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>"},
}

const toolSchema = `{"type": "object", "properties": {"city": {"type": "string", "enum": ["Zug", "Bern \"new\""]}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
	"where": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2}, "note": {"type": "string", "maxLength": 4}}, "required": ["city", "days"], "additionalProperties": false}`

// TestToolArguments checks that arguments follow their schemas: those of strict tools, and those of calls
// that the request demands.
func TestToolArguments(t *testing.T) {
	s := serve(t, nil, toolChats...)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(toolSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:tool", v); err != nil {
		t.Fatal(err)
	}
	valid := c.MustCompile("mem:tool")
	tools := func(strict bool) string {
		return fmt.Sprintf(`"tools": [{"type": "function", "function": {"name": "weather", "strict": %v, "parameters": %s}}, {"type": "function", "function": {"name": "now"}}]`, strict, toolSchema)
	}
	for _, c := range []struct {
		user, fields string
		checked      bool
	}{
		{"Any?", tools(true), true},
		{"Any?", tools(false), false},
		{"Must?", tools(false) + `, "tool_choice": "required"`, true},
		{"Must?", tools(false) + `, "tool_choice": {"type": "function", "function": {"name": "weather"}}`, true},
		{"Call?", tools(true) + `, "response_format": {"type": "json_object"}`, true},
	} {
		called := 0
		for seed := range 12 {
			out := s.answer("/v1/chat/completions", fmt.Sprintf(`{"messages": [{"role": "user", "content": %q}], "reasoning_budget": 20, "max_tokens": 500, "temperature": %v, "seed": %d, "parallel_tool_calls": false, %s}`,
				c.user, []float64{0, 1.5}[seed%2], seed, c.fields))
			name, _ := at(out, "choices", 0, "message", "tool_calls", 0, "function", "name").(string)
			args, _ := at(out, "choices", 0, "message", "tool_calls", 0, "function", "arguments").(string)
			if name == "" {
				continue
			}
			called++
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
			if err == nil && name == "weather" {
				err = valid.Validate(v)
			}
			if seed == 0 && !c.checked && err == nil {
				t.Errorf("%s %s: the test is too weak: %s", c.user, c.fields, args)
			}
			if c.checked && (err != nil || name == "now" && args != "{}") {
				t.Errorf("%s %s, seed %d: %s(%s): %v", c.user, c.fields[len(c.fields)-60:], seed, name, args, err)
			}
		}
		if called < 4 {
			t.Errorf("%s %s: %d calls", c.user, c.fields, called)
		}
	}
	// With a form, an answer is one, or calls of declared tools, and nothing beside.
	for _, user := range []string{"Two?", "Undeclared?", "Any?"} {
		for seed := range 6 {
			out := s.answer("/v1/chat/completions", fmt.Sprintf(`{"messages": [{"role": "user", "content": %q}], "reasoning_budget": 20, "max_tokens": 400, "temperature": %v, "seed": %d, %s, "response_format": {"type": "json_schema", "json_schema": {"strict": true, "schema": %s}}}`,
				user, []float64{0, 1.5}[seed%2], seed, tools(false), citySchema))
			message, _ := at(out, "choices", 0, "message").(map[string]any)
			content, _ := message["content"].(string)
			name, _ := at(message, "tool_calls", 0, "function", "name").(string)
			switch finish := at(out, "choices", 0, "finish_reason"); {
			case finish == "length":
			case name == "" && !json.Valid([]byte(content)), name != "" && (strings.TrimSpace(content) != "" || name != "now" && name != "weather"):
				t.Errorf("%s, seed %d: %v", user, seed, message)
			}
			if seed == 0 && user == "Two?" && name != "now" {
				t.Errorf("%s: the test is too weak: %v", user, message)
			}
		}
	}
	r, text := s.do(http.MethodPost, "/v1/chat/completions", `{"messages": [{"role": "user", "content": "Any?"}], "tools": [{"type": "function", "function": {"name": "x", "strict": true, "parameters": {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true}}}}}]}`)
	if r.StatusCode != http.StatusBadRequest || !strings.Contains(text, `x: #/properties/a: the keyword \"uniqueItems\"`) {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	// Beside tools, an answer in JSON is one as well.
	out := s.answer("/v1/chat/completions", `{"messages": [{"role": "user", "content": "JSON?"}], `+tools(true)+`, "response_format": {"type": "json_schema", "json_schema": {"schema": `+citySchema+`}}}`)
	if got := at(out, "choices", 0, "message", "content"); got != `{"city": "Zürich", "days": 3}` {
		t.Errorf("an answer beside tools: %v", got)
	}
}

// TestPassedOver checks that one line of the log has the keywords without effect, by name only.
func TestPassedOver(t *testing.T) {
	prompt, log := seen(t)
	const loose = `{"type": "object", "properties": {"secret": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}, "b": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}, "c": {"type": "number", "multipleOf": 1.2345678, "minimum": 1}}}`
	const user = `{"max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}], `
	for _, c := range []struct{ fields, want string }{
		{`"json_schema": ` + loose, `param=json_schema keywords="multipleOf, uniqueItems"`},
		{`"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "parameters": ` + loose + `}}]`, `param=tools keywords="multipleOf, uniqueItems"`},
		{`"json_schema": {"type": "integer"}`, ""},
	} {
		log.Reset()
		prompt("chat/completions", user+c.fields+`}`)
		n := strings.Count(log.String(), "have no effect")
		if c.want == "" && n > 0 || c.want != "" && (n != 1 || !strings.Contains(log.String(), c.want) || strings.Contains(log.String(), "secret")) {
			t.Errorf("%s: %s", c.fields, log)
		}
	}
}

// TestOutputFormat checks Anthropic's older name of a response format.
func TestOutputFormat(t *testing.T) {
	s := tinychat(t)
	for _, name := range []string{`"output_format": {`, `"output_config": {"format": {`} {
		end := strings.Repeat("}", strings.Count(name, "{"))
		out := s.answer("/v1/messages", `{"max_tokens": 60, "thinking": {"type": "disabled"}, "messages": [{"role": "user", "content": "Hi!"}], `+name+`"type": "json_schema", "schema": {"enum": ["yes", "no"]}`+end+`}`)
		if got := at(out, "content", 0, "text"); got != `"yes"` && got != `"no"` {
			t.Errorf("%s: %v", name, out)
		}
	}
}
