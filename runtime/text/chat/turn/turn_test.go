package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/tokenizer"
)

// TestTurn: an answer of control tokens and text is taken apart, and its calls have ids of their own.
func TestTurn(t *testing.T) {
	file, err := gguf.Open("../../../../testdata/tinychat.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tok, err := tokenizer.FromGGUF(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.For(tok.ChatTemplate(), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	messages := []chat.Message{{Role: chat.User, Content: "x"}, {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "0", Name: "f", Arguments: "{}"}}}, {Role: chat.Tool, Content: "1"}}
	tools := []json.RawMessage{json.RawMessage(`{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}`)}
	what, err := turn.New(tok, r, messages, chat.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	stream, found, ids := tok.NewStream(), map[output.Kind]string{}, ""
	const answer = "why</think>so<tool_call>f<arg_key>a</arg_key><arg_value>3</arg_value></tool_call><tool_call>f<arg_key>a</arg_key><arg_value>4</arg_value></tool_call><|observation|>"
	calls := 0
	for _, id := range tok.Encode(answer, tokenizer.EncodeOptions{ParseSpecial: true}) {
		if what.Ends(id) {
			found[output.CallEnd] += "end"
			continue
		}
		for _, e := range what.Push(stream, id) {
			if found[e.Kind] += e.Text; e.Kind == output.CallBegin {
				ids += what.CallID(e, calls) + " "
				calls++
			}
		}
	}
	if found[output.Reasoning] != "why" || found[output.Content] != "so" || found[output.Arguments] != `{"a": 3}{"a": 4}` || ids != "1 2 " || !strings.HasSuffix(found[output.CallEnd], "end") {
		t.Errorf("%v with ids %q", found, ids)
	}
	plain, err := chat.For("{{ messages[0].content }}", chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.New(tok, plain, messages, chat.Options{Tools: tools}); err == nil || !strings.Contains(err.Error(), "says nothing about calls") {
		t.Error(err)
	}
}
