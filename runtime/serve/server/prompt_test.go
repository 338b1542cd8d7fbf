package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrompt checks the prompt that the template makes of a conversation.
func TestPrompt(t *testing.T) {
	s := serve(t, nil)
	const user, assistant = `{"role": "user", "content": "x"}`, `{"role": "assistant", "content": "a</think>b", "reasoning_content": %s}`
	for body, want := range map[string]string{
		user: "<|user|>x<|assistant|><think>",
		user + `], "add_generation_prompt": true, "stop": [`: "<|user|>x<|assistant|><think>",
		// Without the beginning of an answer; then the last message is whole, too.
		user + `], "add_generation_prompt": false, "stop": [`:                                       "<|user|>x",
		user + "," + fmt.Sprintf(assistant, `"t"`) + `], "add_generation_prompt": false, "stop": [`: "<|user|>x<|assistant|><think>t</think>a</think>b",
		// Thoughts that are none leave the content alone; if nothing is said, it is searched.
		fmt.Sprintf(assistant, `""`) + "," + user:   "<|assistant|></think>a</think>b<|user|>x<|assistant|><think>",
		fmt.Sprintf(assistant, `null`) + "," + user: "<|assistant|></think>b<|user|>x<|assistant|><think>",
	} {
		var out struct{ Prompt string }
		if s.post("/apply-template", `{"messages": [`+body+`]}`, &out); out.Prompt != "[gMASK]<sop>"+want {
			t.Errorf("%s:\n got %q\nwant %q", body, out.Prompt, want)
		}
	}
	for body, want := range map[string]string{
		user + `], "add_generation_prompt": true, "continue_final_message": true, "stop": [`:                                             "expected one of them",
		user + `], "add_generation_prompt": false, "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f"}}`: "begins the assistant's turn",
	} {
		if r, text := s.do("POST", "/apply-template", `{"messages": [`+body+`]}`); r.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", body, r.Status, text)
		}
	}
}
