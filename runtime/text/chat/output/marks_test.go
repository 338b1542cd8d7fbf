package output

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// odd declares parameters in all the ways that say which types their values have.
var odd = []json.RawMessage{json.RawMessage(`{"type": "function", "function": {"name": "odd", "parameters": {"type": "object",
	"$defs": {"text": {"type": "string"}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"$ref": "#/$defs/loop"}]}, "a/b": {"type": "integer"}},
	"properties": {
		"any": {}, "true": true, "flag": {"type": "boolean"}, "nothing": {"type": "null"}, "object": {"type": "object"}, "list": {"type": "array"}, "whole": {"type": "integer"},
		"optional": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "one": {"oneOf": [{"type": "string"}, {"const": "x"}]}, "all": {"allOf": [{"type": "string"}, {"minLength": 1}]},
		"ref": {"$ref": "#/$defs/text"}, "slash": {"$ref": "#/$defs/a~1b"}, "lost": {"$ref": "#/$defs/none"}, "loop": {"$ref": "#/$defs/loop"},
		"enum": {"enum": ["12", "34"]}, "const": {"const": "12"}, "mixed": {"enum": [1, "2", null]}, "nullable": {"type": "string", "nullable": true},
		"either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "narrow": {"type": ["string", "integer"], "enum": ["7", "8"]}},
	"allOf": [{"properties": {"inherited": {"type": "string"}}}]}}}`)}

// TestValueTypes: a bare value is JSON only where its schema, however it says so, has such values.
func TestValueTypes(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"optional", "12", `"12"`}, {"optional", "null", "null"}, {"optional", "true", `"true"`}, {"optional", "None", `"None"`}, {"one", "12", `"12"`}, {"all", "12", `"12"`}, {"ref", "12", `"12"`},
		{"enum", "12", `"12"`}, {"const", "12", `"12"`}, {"mixed", "1", "1"}, {"mixed", "2", `"2"`}, {"mixed", "null", "null"}, {"nullable", "12", `"12"`}, {"nullable", "null", "null"},
		{"either", "12", "12"}, {"either", "1.5", `"1.5"`}, {"either", "x", `"x"`}, {"narrow", "7", `"7"`}, {"inherited", "7", `"7"`}, {"slash", "7", "7"}, {"lost", "7", "7"}, {"true", "7", "7"}, {"loop", "7", "7"},
		{"flag", "True", "true"}, {"flag", "False", "false"}, {"flag", "true", "true"}, {"nothing", "None", "null"}, {"object", "{'k': 1}", `{"k": 1}`}, {"object", `{'a': [True, None, (1, 2.5)], "b": 'it\'s "x"\n',}`, `{"a": [true, null, [1, 2.5]], "b": "it's \"x\"\n"}`},
		{"list", "['a', 'b']", `["a", "b"]`}, {"list", "[]", "[]"}, {"object", "{}", "{}"}, {"object", "{'k': 1", `"{'k': 1"`}, {"object", "{1: 2}", `"{1: 2}"`}, {"whole", "a few", `"a few"`}, {"any", "a few", `"a few"`}, {"any", "{'k': 1}", `{"k": 1}`}, {"any", "", `""`},
	} {
		text := "<tool_call>odd<arg_key>" + c.key + "</arg_key><arg_value>" + c.value + "</arg_value></tool_call>"
		got := list(parse(Config{Format: format(t, "glm"), Tools: odd}, text, func(int) bool { return rand.IntN(3) == 0 }))
		if want := "call odd\nargs {\"" + c.key + "\": " + c.want + "}\nend"; got != want {
			t.Errorf("%s = %s gives\n%s\nexpected\n%s", c.key, c.value, got, want)
		}
	}
}

// TestManyReferences: a schema whose references multiply is read as far as is reasonable.
func TestManyReferences(t *testing.T) {
	wide := strings.TrimSuffix(strings.Repeat(`{"$ref": "#/$defs/a"},`, 100), ",")
	declared([]json.RawMessage{json.RawMessage(`{"function": {"name": "x", "parameters": {"$defs": {"a": {"anyOf": [` + wide + `]}}, "properties": {"a": {"$ref": "#/$defs/a"}}, "anyOf": [` + wide + `, {"$ref": "#"}]}}}`)})
}

// TestMarks has answers whose marks stand where they are not expected, or do not stand.
func TestMarks(t *testing.T) {
	const (
		v31  = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
		kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:3<|tool_call_argument_begin|>{\"city\": \"a\"}<|tool_call_end|><|tool_calls_section_end|>"
		glm  = "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value></tool_call>"
		call = "call weather\nargs {\"city\": \"a\"}\nend"
	)
	for _, c := range []struct {
		name, format, text, want string
		thinking                 bool
		think                    [2]string
	}{
		{name: "deepseek, within thoughts", format: "deepseek-v3.1", text: "Hmm." + v31, want: "thought Hmm.\n" + call, thinking: true},
		{name: "kimi, within thoughts", format: "kimi-k2", text: "<think>I need it.\n" + kimi, want: "thought I need it.\n" + call},
		{name: "glm, within thoughts", format: "glm", text: "Hmm.\n" + glm + "\nmore</think>Done.", want: "thought Hmm.\n" + call + "\nthought more\ntext Done.", thinking: true},
		{name: "glm, a mark within thoughts", format: "glm", text: "I write <tool_call> and then.\n</think>Done.", want: "thought I write <tool_call> and then.\ntext Done.", thinking: true},
		{name: "deepseek, a mark within thoughts", format: "deepseek-v3.1", text: "I write <｜tool▁call▁begin｜> then.</think>Done.", want: "thought I write <｜tool▁call▁begin｜> then.\ntext Done.", thinking: true},
		{name: "glm, another tool within thoughts", format: "glm", text: "Or\n<tool_call>rm</tool_call>?</think>No.", want: "thought Or\n<tool_call>rm</tool_call>?\ntext No.", thinking: true},
		{name: "hermes, within thoughts", format: "hermes", text: "x<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", want: "thought x\ncall now\nargs {}\nend", thinking: true},
		{name: "mistral, within thoughts", format: "mistral", text: "[THINK]I'm\nthinking[TOOL_CALLS]now[ARGS]{}[/THINK]Hello", want: "thought I'm\nthinking[TOOL_CALLS]now[ARGS]{}\ntext Hello", think: [2]string{"[THINK]", "[/THINK]"}},
		{name: "mistral, after thoughts", format: "mistral", text: "[THINK]Hm[/THINK][TOOL_CALLS]now[CALL_ID]abcdefghi[ARGS]{}", want: "thought Hm\ncall now\nargs {}\nend", think: [2]string{"[THINK]", "[/THINK]"}},
		{name: "kimi, singular", format: "kimi-k2", text: "ok<|tool_call_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_section_end|>", want: "text ok\ncall now\nargs {}\nend"},
		{name: "kimi, no end", format: "kimi-k2", text: "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}", want: "call now\nargs {}\nend"},
		{name: "gigachat3", format: "gigachat3", text: "Well.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"a\"}}<|message_sep|>\n\nuser<|role_sep|>\nmore", want: "text Well.\n" + call},
		{name: "gigachat3, a call alone", format: "gigachat3", text: "function call<|role_sep|>\n{\"name\": \"now\", \"arguments\": {}}", want: "call now\nargs {}\nend"},
		{name: "gigachat3, no call", format: "gigachat3", text: "Well.<|message_sep|>\n\nuser<|role_sep|>\nmore", want: "text Well."},
		{name: "gigachat3, cut", format: "gigachat3", text: "Well.<|message_sep|>\n\nfunct", want: "text Well."},
		{name: "gigachat3.1", format: "gigachat3.1", text: "Well.<|function_call|>{\"name\": \"weather\", \"arguments\": {\"city\": \"a\"}}", want: "text Well.\n" + call},
		{name: "gigachat3.1, arguments first", format: "gigachat3.1", text: "<|function_call|>{\"arguments\": {\"city\": \"a\"}, \"name\": \"weather\"} x", want: call + "\ntext x"},
		{name: "glm, a mark in a value", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a </arg_value> b</arg_value></tool_call>", want: "call weather\nargs {\"city\": \"a </arg_value> b\"}\nend"},
		{name: "glm, marks in a value", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>\"<tool_call>x<arg_key>k</arg_key><arg_value>v</arg_value> and </tool_call> <arg_\"</arg_value>\n<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>",
			want: "call weather\nargs {\"city\": \"\\\"<tool_call>x<arg_key>k</arg_key><arg_value>v</arg_value> and </tool_call> <arg_\\\"\", \"days\": 2}\nend"},
		{name: "glm, a mark in JSON", format: "glm", text: "<tool_call>weather<arg_key>any</arg_key><arg_value>[\"</arg_value>\"]</arg_value></tool_call>", want: "call weather\nargs {\"any\": [\"</arg_value>\"]}\nend"},
		{name: "glm, no end of a value", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a\n<arg_key>days</arg_key><arg_value>2<arg_key>any</arg_key>\n<arg_value>x</arg_value></tool_call>", want: "call weather\nargs {\"city\": \"a\", \"days\": 2, \"any\": \"x\"}\nend"},
		{name: "glm, no end of the last value", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a</tool_call><tool_call>now</tool_call>", want: call + "\ncall now\nargs {}\nend"},
		{name: "glm, no end of the last value of all", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a</tool_call>", want: call},
		{name: "glm, no end", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value>\n", want: call},
		{name: "glm, half an end", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value></tool", want: call},
		{name: "glm, no end of a name", format: "glm", text: "<tool_call>now", want: "call now\nargs {}\nend"},
		{name: "glm, no end before another", format: "glm", text: "<tool_call>now\n<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value><tool_call>now</tool_call>", want: "call now\nargs {}\nend\n" + call + "\ncall now\nargs {}\nend"},
	} {
		config := Config{Format: format(t, c.format), Tools: tools, Thinking: c.thinking, Think: c.think}
		for range 20 {
			for how, cut := range []func(int) bool{func(int) bool { return false }, func(int) bool { return true }, func(int) bool { return rand.IntN(4) == 0 }} {
				if got := list(parse(config, c.text, cut)); got != c.want {
					t.Fatalf("%s, cut %d:\n%s\nexpected\n%s", c.name, how, got, c.want)
				}
			}
		}
	}
}

// TestCut: an answer that is broken off has no call that a further token might have changed.
func TestCut(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"glm", "<tool_call>now", "text <tool_call>now"},
		{"glm", "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value>", "call weather\nargs {\"city\": \"a\nbroken <tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value>"},
		{"glm", "<tool_call>weather<arg_key>days</arg_key><arg_value>1", "call weather\nbroken <tool_call>weather<arg_key>days</arg_key><arg_value>1"},
		{"kimi-k2", "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{\"a\": ", "call now\nargs {\"a\": \nbroken <|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{\"a\": "},
	} {
		p := New(Config{Format: format(t, c.format), Tools: tools})
		if got := list(append(p.Push(c.text), p.Cut()...)); got != c.want {
			t.Errorf("%s:\n%s\nexpected\n%s", c.text, got, c.want)
		}
	}
}

// TestIDs: an id that the model has written is the call's.
func TestIDs(t *testing.T) {
	for text, want := range map[string]string{"functions.now:12": "functions.now:12", "now:0": "", "now": "", "functions.now": ""} {
		p := New(Config{Format: format(t, "kimi-k2"), Tools: tools})
		events := p.Push("<|tool_call_begin|>" + text + "<|tool_call_argument_begin|>{}<|tool_call_end|>")
		if len(events) != 3 || events[0].Text != "now" || events[0].ID != want {
			t.Errorf("%s: %+v", text, events)
		}
	}
	if got := format(t, "kimi-k2").Opening("now", 4); got != "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:4<|tool_call_argument_begin|>" {
		t.Error(got)
	}
}

// FuzzPython: what is read of Python's is JSON.
func FuzzPython(f *testing.F) {
	f.Add(`{'a': [True, None, (1, 2.5)], "b": 'x'}`)
	f.Fuzz(func(t *testing.T, text string) {
		if out, ok := pythonLiteral(text); ok && !json.Valid([]byte(out)) {
			t.Errorf("%q gives %q", text, out)
		}
	})
}
