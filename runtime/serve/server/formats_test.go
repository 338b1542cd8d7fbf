package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
)

// kimiCalls are calls in the format of Kimi-K2, in two steps of a conversation.
var kimiCalls = []completiontest.Answer{
	{To: "second result", Text: "Done."},
	{To: "first result", Text: "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
	{To: "Go", Text: "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\":\"Bern\"}<|tool_call_end|><|tool_call_begin|>now<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
}

// TestNumberedCalls checks that ids of Kimi-K2's calls are the model's own, counted over the conversation,
// and that calls return to the prompt as they were written.
func TestNumberedCalls(t *testing.T) {
	s := serve(t, useTemplate(t, "../../text/chat/testdata/tools/numbered.jinja"), kimiCalls...)
	tail := `], ` + twoTools + `}`
	messages := `{"messages": [{"role": "user", "content": "Go"}`
	ids := func(out map[string]any, want ...string) (message string) {
		t.Helper()
		calls, _ := at(out, "choices", 0, "message", "tool_calls").([]any)
		if len(calls) != len(want) {
			t.Fatalf("%v", out)
		}
		for i, id := range want {
			if got := at(calls[i], "id"); got != id {
				t.Errorf("call %d has the id %v; expected %s", i, got, id)
			}
		}
		text, err := json.Marshal(at(out, "choices", 0, "message"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := ids(s.answer("/v1/chat/completions", messages+tail), "functions.weather:0", "functions.now:1")
	messages += `, ` + strings.ReplaceAll(first, `{\"city\":\"Bern\"}`, `{ \"city\": \"Bern\" }`) +
		`, {"role": "tool", "tool_call_id": "functions.weather:0", "content": "cold"}, {"role": "tool", "tool_call_id": "functions.now:1", "content": "first result"}`
	var prompt struct{ Prompt string }
	s.post("/apply-template", messages+tail, &prompt)
	if want := "<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\":\"Bern\"}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}"; !strings.Contains(prompt.Prompt, want) {
		t.Errorf("%q has no %q", prompt.Prompt, want)
	}
	second := ids(s.answer("/v1/chat/completions", messages+tail), "functions.now:0") // as it was written
	messages += `, ` + second + `, {"role": "tool", "tool_call_id": "functions.now:0", "content": "second result"}`
	s.post("/apply-template", messages+`], "tool_choice": "required", `+twoTools+`}`, &prompt)
	if want := "<|assistant|><|tool_calls_section_begin|><|tool_call_begin|>"; !strings.HasSuffix(prompt.Prompt, want) {
		t.Errorf("%q", prompt.Prompt)
	}
	s.post("/apply-template", messages+`], "tool_choice": {"type": "function", "function": {"name": "now"}}, `+twoTools+`}`, &prompt)
	if want := "<|tool_call_begin|>functions.now:3<|tool_call_argument_begin|>"; !strings.HasSuffix(prompt.Prompt, want) {
		t.Errorf("%q", prompt.Prompt)
	}
}

// TestRoleCalls checks GigaChat3's calls, which are turns of a role of their own. Text after the model's turn
// is not passed on.
func TestRoleCalls(t *testing.T) {
	s := serve(t, useTemplate(t, "../../text/chat/testdata/tools/roles.jinja"),
		completiontest.Answer{To: "Call?<|message_sep|>\n\nassistant<|role_sep|>\n", Text: "Well.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}<|message_sep|>\n\nuser<|role_sep|>\nmore"},
		completiontest.Answer{To: "Talk?<|message_sep|>\n\nassistant<|role_sep|>\n", Text: "Well.<|message_sep|>\n\nuser<|role_sep|>\nmore"})
	for user, want := range map[string]told{"Call?": {content: "Well.", calls: `weather{"city": "Bern"}`, finish: "tool_calls"}, "Talk?": {content: "Well.", finish: "stop"}} {
		if got := s.streamedChat(`{"stream": true, "messages": [{"role": "user", "content": "` + user + `"}], ` + twoTools + `}`); got != want {
			t.Errorf("%s: %+v; expected %+v", user, got, want)
		}
	}
	// The template has no place for a system message within a conversation.
	var prompt struct{ Prompt string }
	s.post("/apply-template", `{"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "S"}, {"role": "user", "content": "b"}]}`, &prompt)
	if want := "system<|role_sep|>\nS<|message_sep|>\n\nuser<|role_sep|>\na<|message_sep|>\n\nuser<|role_sep|>\nb<|message_sep|>\n\nassistant<|role_sep|>\n"; prompt.Prompt != want {
		t.Errorf("%q; expected %q", prompt.Prompt, want)
	}
}

// TestEfforts checks Mistral: thoughts are returned separately and accepted as parts, and ids have the form
// that its templates need.
func TestEfforts(t *testing.T) {
	s := serve(t, useTemplate(t, "../../text/chat/testdata/tools/efforts.jinja"),
		completiontest.Answer{To: "result[/TOOL_RESULTS]", Text: "Fine."},
		completiontest.Answer{To: "Go[/INST]", Text: "[THINK]I'm\nthinking[TOOL_CALLS]now[ARGS]{}[/THINK][TOOL_CALLS]weather[ARGS]{\"city\": \"Bern\"}"})
	body := `{"reasoning_effort": "medium", "messages": [{"role": "user", "content": "Go"}`
	tail := `], ` + twoTools + `}`
	out := s.answer("/v1/chat/completions", body+tail)
	id, _ := at(out, "choices", 0, "message", "tool_calls", 0, "id").(string)
	if len(id) != 9 || at(out, "choices", 0, "message", "reasoning_content") != "I'm\nthinking[TOOL_CALLS]now[ARGS]{}" || at(out, "choices", 0, "message", "content") != "" {
		t.Fatalf("%v", out)
	}
	call := `{"role": "assistant", "tool_calls": [{"id": "ID", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Bern\"}"}}]}, {"role": "tool", "tool_call_id": "ID", "content": "result"}`
	var prompt struct{ Prompt string }
	s.post("/apply-template", body+`, `+strings.ReplaceAll(call, "ID", id)+tail, &prompt)
	if want := "[SETTINGS]high[/SETTINGS]"; !strings.HasPrefix(prompt.Prompt, want) {
		t.Errorf("%q", prompt.Prompt)
	}
	if want := "[INST]Go[/INST][THINK]I'm\nthinking[TOOL_CALLS]now[ARGS]{}[/THINK][TOOL_CALLS]weather[ARGS]{\"city\": \"Bern\"}[TOOL_RESULTS]result[/TOOL_RESULTS]"; !strings.HasSuffix(prompt.Prompt, want) {
		t.Errorf("%q; expected %q", prompt.Prompt, want)
	}
	out = s.answer("/v1/chat/completions", body+`, `+strings.ReplaceAll(call, "ID", "call_of_another_model")+tail)
	if got := at(out, "choices", 0, "message", "content"); got != "Fine." {
		t.Errorf("%v", out)
	}
}

// TestThoughtfulCalls checks that a call within thoughts is a call, and that a response format still holds
// after thoughts that only mention calls.
func TestThoughtfulCalls(t *testing.T) {
	s := serve(t, nil,
		completiontest.Answer{To: "Rain?", Text: "I look.\n<tool_call>weather<arg_key>city</arg_key><arg_value>Bern</arg_value></tool_call>"},
		completiontest.Answer{To: "Form?", Text: "No <tool_call>rm</tool_call>.</think>{\"city\": \"Bern\"}"})
	body := `{"messages": [{"role": "user", "content": "Rain?"}], ` + twoTools
	if got := s.streamedChat(body + `, "stream": true}`); got != (told{calls: `weather{"city": "Bern"}`, finish: "tool_calls"}) {
		t.Errorf("%+v", got)
	}
	out := s.answer("/v1/chat/completions", `{"messages": [{"role": "user", "content": "Form?"}], "response_format": {"type": "json_object"}, `+twoTools+`}`)
	if at(out, "choices", 0, "message", "content") != `{"city": "Bern"}` || at(out, "choices", 0, "message", "reasoning_content") != "No <tool_call>rm</tool_call>." {
		t.Errorf("%v", out)
	}
}

// TestFormOrCall checks that an answer with a response format has this format or is a call of a known tool,
// also if the request demands no call.
func TestFormOrCall(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Form?", Text: "x</think><tool_call>rm<arg_key>all</arg_key><arg_value>1</arg_value></tool_call>"})
	for _, form := range []string{`"response_format": {"type": "json_object"}`, `"response_format": {"type": "json_schema", "json_schema": {"name": "r", "strict": true, "schema": ` + citySchema + `}}`} {
		out := s.answer("/v1/chat/completions", `{"max_tokens": 300, "messages": [{"role": "user", "content": "Form?"}], `+form+`, `+twoTools+`}`)
		name, _ := at(out, "choices", 0, "message", "tool_calls", 0, "function", "name").(string)
		if name != "weather" && name != "now" || at(out, "choices", 0, "message", "content") != "" {
			t.Errorf("%s: %v", form, out)
		}
	}
}

// TestCutCalls checks that a call which max_tokens cuts is never returned as a whole call, for every place of
// the cut.
func TestCutCalls(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Cut?", Text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>"})
	tools := `"tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}}]`
	for n := 1; n < 29; n++ {
		body := `{"reasoning_effort": "none", "messages": [{"role": "user", "content": "Cut?"}], ` + tools + `, "max_tokens": ` + string(rune('0'+n/10)) + string(rune('0'+n%10))
		body = strings.ReplaceAll(body, `"max_tokens": 0`, `"max_tokens": `)
		got := s.streamedChat(body + `, "stream": true}`)
		_, args, _ := strings.Cut(got.calls, "{")
		whole := got.finish == "tool_calls"
		if got.calls != "" && json.Valid([]byte("{"+args)) != whole || got.finish == "stop" {
			t.Errorf("%d tokens: %+v", n, got)
		}
		out := s.answer("/v1/chat/completions", body+`}`)
		if calls, _ := at(out, "choices", 0, "message", "tool_calls").([]any); (len(calls) > 0) != whole {
			t.Errorf("%d tokens: %v", n, out)
		}
	}
}

// TestSeed checks that requests without a seed use the server's seed.
func TestSeed(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) {
		c.FixedSeed, c.Sampling.Seed, c.Sampling.Temperature = true, 42, 30
	})
	texts := map[string]bool{}
	text := func(fields string) string {
		return at(s.answer("/v1/completions", `{"prompt": "x", "max_tokens": 20`+fields+`}`), "choices", 0, "text").(string)
	}
	for range 3 {
		texts[text("")] = true
	}
	if len(texts) != 1 || texts[text(`, "seed": 7`)] || texts[text(`, "seed": -1`)] {
		t.Errorf("%v", texts)
	}
}
