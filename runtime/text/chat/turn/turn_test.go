package turn_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/guided"
	"mla/runtime/text/tokenizer"
)

// small is the small chat model's vocabulary, its template, and a tool f.
func small(t *testing.T) (*tokenizer.Tokenizer, chat.Renderer, []json.RawMessage) {
	t.Helper()
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
	return tok, r, []json.RawMessage{json.RawMessage(`{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}`)}
}

// TestTurn: an answer of control tokens and text is taken apart, and its calls have ids of their own.
func TestTurn(t *testing.T) {
	tok, r, tools := small(t)
	messages := []chat.Message{{Role: chat.User, Content: "x"}, {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "0", Name: "f", Arguments: "{}"}}}, {Role: chat.Tool, Content: "1"}}
	what, err := turn.New(tok, r, messages, chat.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := what.Rules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := what.NewWriter([]string{"!"}, rules)
	emitted := ""
	w.Emit = func(text string) bool { emitted += text; return true }
	const answer = "why</think>so! not<tool_call>f<arg_key>a</arg_key><arg_value>3</arg_value></tool_call><tool_call>f<arg_key>a</arg_key><arg_value>4</arg_value></tool_call><|observation|>"
	for _, id := range tok.Encode(strings.Replace(answer, "! not", "", 1), tokenizer.EncodeOptions{ParseSpecial: true}) {
		if !what.Ends(id) && !w.Token(id) {
			t.Errorf("token %d ends the answer", id)
		}
	}
	w.End(true)
	want := []chat.ToolCall{{ID: "1", Name: "f", Arguments: `{"a": 3}`}, {ID: "2", Name: "f", Arguments: `{"a": 4}`}}
	if w.Thoughts() != "why" || w.Text() != "so" || emitted != "so" || w.Thought == 0 || !slices.Equal(w.Calls, want) {
		t.Errorf("thoughts %q, text %q, calls %+v", w.Thoughts(), w.Text(), w.Calls)
	}
	if what, err = turn.New(tok, r, messages, chat.Options{Tools: tools}); err != nil {
		t.Fatal(err)
	}
	w = what.NewWriter([]string{"!"}, rules)
	for _, id := range tok.Encode(answer, tokenizer.EncodeOptions{ParseSpecial: true}) {
		if !w.Token(id) {
			break
		}
	}
	if w.End(false); w.Text() != "so" || len(w.Calls) > 0 {
		t.Errorf("an answer that a stop text ends has %q, calls %+v", w.Text(), w.Calls)
	}
	plain, err := chat.For("{{ messages[0].content }}", chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.New(tok, plain, messages, chat.Options{Tools: tools}); err == nil || !strings.Contains(err.Error(), "says nothing about calls") {
		t.Error(err)
	}
}

// TestCut: a call whose end is missing is one if the model ended the answer there, and none if it was
// broken off.
func TestCut(t *testing.T) {
	tok, r, tools := small(t)
	for whole, calls := range map[bool]int{true: 1, false: 0} {
		what, err := turn.New(tok, r, []chat.Message{{Role: chat.User, Content: "x"}}, chat.Options{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		w := what.NewWriter(nil, guided.Rules{})
		for _, id := range tok.Encode("</think><tool_call>f<arg_key>a</arg_key><arg_value>3</arg_value>", tokenizer.EncodeOptions{ParseSpecial: true}) {
			w.Token(id)
		}
		if w.End(whole); len(w.Calls) != calls {
			t.Errorf("whole %v: %+v, text %q", whole, w.Calls, w.Text())
		}
	}
}

// TestTurnEnd: where a call follows the end of the model's turn, that token ends no answer.
func TestTurnEnd(t *testing.T) {
	template, err := os.ReadFile("../testdata/tools/roles.jinja")
	if err != nil {
		t.Fatal(err)
	}
	v := tokenizer.NoTokens()
	v.Model, v.Pre = "gpt2", "glm4"
	for b := range rune(256) { // as byte-level vocabularies write bytes; what this text has not is left out
		switch {
		case '!' <= b && b <= '~':
			v.Tokens = append(v.Tokens, string(b))
		case b == ' ' || b == '\n':
			v.Tokens = append(v.Tokens, string(b+0x100))
		}
	}
	v.Types = slices.Repeat([]int32{tokenizer.TypeNormal}, len(v.Tokens))
	for _, marker := range []string{"</s>", "<|message_sep|>", "<|role_sep|>"} {
		v.Tokens, v.Types = append(v.Tokens, marker), append(v.Types, tokenizer.TypeControl)
	}
	v.EOS = len(v.Tokens) - 3
	tok, err := tokenizer.New(v)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.For(string(template), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, tools := small(t)
	for answer, calls := range map[string]int{
		"So.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"f\", \"arguments\": {\"a\": 3}}<|message_sep|>\n\nuser<|role_sep|>\nmore": 1,
		"So.<|message_sep|>\n\nuser<|role_sep|>\nmore": 0,
	} {
		what, err := turn.New(tok, r, []chat.Message{{Role: chat.User, Content: "x"}}, chat.Options{Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		w, ended := what.NewWriter(nil, guided.Rules{}), false
		for _, id := range tok.Encode(answer, tokenizer.EncodeOptions{ParseSpecial: true}) {
			if ended = what.Ends(id) || !w.Token(id); ended {
				break
			}
		}
		if w.End(ended); len(w.Calls) != calls || w.Text() != "So." {
			t.Errorf("%q: text %q, calls %+v", answer, w.Text(), w.Calls)
		}
	}
}
