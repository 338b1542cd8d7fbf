package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSwitches: each template gets its own variable, and an effort that it knows.
func TestSwitches(t *testing.T) {
	on, off := true, false
	const deepseek = "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ '<think>' if thinking else '</think>' }}"
	efforts := readFile(t, "tools/efforts.jinja")
	for _, c := range []struct {
		name, template string
		opts           Options
		want           string
	}{
		{"deepseek", deepseek, Options{}, "</think>"},
		{"deepseek", deepseek, Options{Thinking: &on}, "<think>"},
		{"deepseek", deepseek, Options{Thinking: &off}, "</think>"},
		{"deepseek", deepseek, Options{Effort: "medium"}, "<think>"},
		{"deepseek", deepseek, Options{Effort: "none"}, "</think>"},
		{"deepseek", deepseek, Options{Variables: map[string]json.RawMessage{"thinking": json.RawMessage("true")}}, "<think>"},
		{"efforts", efforts, Options{}, "[SETTINGS]none[/SETTINGS][INST]x[/INST]"},
		{"efforts", efforts, Options{Effort: "high"}, "[SETTINGS]high[/SETTINGS][INST]x[/INST]"},
		{"efforts", efforts, Options{Effort: "low"}, "[SETTINGS]high[/SETTINGS][INST]x[/INST]"},
		{"efforts", efforts, Options{Effort: "none"}, "[SETTINGS]none[/SETTINGS][INST]x[/INST]"},
		{"efforts", efforts, Options{Thinking: &on}, "[SETTINGS]high[/SETTINGS][INST]x[/INST]"},
		{"efforts", efforts, Options{Thinking: &off, Effort: "high"}, "[SETTINGS]none[/SETTINGS][INST]x[/INST]"},
		{"enable_thinking", "{{ enable_thinking | default('unset') }}", Options{}, "unset"},
		{"enable_thinking", "{{ enable_thinking }}", Options{Effort: "none"}, "False"},
		{"clear_thinking", "{{ clear_thinking }}", Options{KeepThinking: true}, "False"},
		{"words without none", "{{ reasoning_effort | default('unset') }}", Options{Thinking: &off}, "unset"},
		{"variables", "{{ a.b[0] }}{{ messages | length }}", Options{Variables: map[string]json.RawMessage{"a": json.RawMessage(`{"b": [7]}`), "messages": json.RawMessage("[]")}}, "71"},
	} {
		r := mustFor(t, c.template, "jinja")
		if got, err := r.Render([]Message{{Role: User, Content: "x"}}, c.opts); err != nil || got != c.want {
			t.Errorf("%s, %+v: %q, %v; expected %q", c.name, c.opts, got, err, c.want)
		}
	}
}

// TestThoughtParts: thoughts are parts of the content where a template wants that.
func TestThoughtParts(t *testing.T) {
	r := mustFor(t, readFile(t, "tools/efforts.jinja"), "jinja")
	got, err := r.Render([]Message{{Role: User, Content: "x"}, {Role: Assistant, Reasoning: "R", Content: "A"}, {Role: Assistant, Reasoning: "S"}, {Role: Assistant, Content: "B"}}, Options{})
	if want := "[SETTINGS]none[/SETTINGS][INST]x[/INST][THINK]R[/THINK]A[THINK]S[/THINK]B"; err != nil || got != want {
		t.Errorf("%q, %v; expected %q", got, err, want)
	}
	if got := ThoughtMarks(r.Template()); got != [2]string{"[THINK]", "[/THINK]"} {
		t.Error(got)
	}
}

// TestBrokenArguments: a call that was cut is a part of the conversation in every format.
func TestBrokenArguments(t *testing.T) {
	for template, wants := range map[string][]string{
		"glm-4.7-flash":  {`<arg_key>arguments</arg_key><arg_value>{"city": "Os</arg_value>`, `<arg_value>[]</arg_value>`},
		"tools/hermes":   {`{"arguments": "{\"city\": \"Os"}`, `{"arguments": "[]"}`},
		"tools/sections": {`f<｜tool▁sep｜>{"city": "Os<｜tool▁call▁end｜>`, `f<｜tool▁sep｜>[]<｜tool▁call▁end｜>`},
		"tools/numbered": {`<|tool_call_argument_begin|>{"city": "Os<|tool_call_end|>`, `<|tool_call_argument_begin|>[]<|tool_call_end|>`},
	} {
		r, err := For(readFile(t, template+".jinja"), testHints)
		if err != nil {
			t.Fatal(err)
		}
		for i, args := range []string{`{"city": "Os`, `[]`} {
			got, err := r.Render([]Message{{Role: User, Content: "x"}, {Role: Assistant, ToolCalls: []ToolCall{{"a", "f", args}}}}, Options{})
			if err != nil || !strings.Contains(got, wants[i]) {
				t.Errorf("%s, %s: %q, %v; expected %q", template, args, got, err, wants[i])
			}
		}
	}
}
