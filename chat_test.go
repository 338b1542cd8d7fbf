package mla_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla"
	"mla/runtime/load/hub/hubtest"
)

// chatModel opens the chat model.
func chatModel(t *testing.T, o mla.Options) *mla.Model {
	t.Helper()
	m := openChat(o)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// send is the answer to a message.
func send(t *testing.T, c *mla.Chat, text string, g mla.Generation) string {
	t.Helper()
	var out strings.Builder
	for piece, err := range c.Send(context.Background(), text, g) {
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(piece)
	}
	return out.String()
}

// TestChatParts: thoughts come first and apart, prompts say how far they are, and what does not go
// together is an error.
func TestChatParts(t *testing.T) {
	m := chatModel(t, mla.Options{})
	c, err := m.NewChat("")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	var last mla.Progress
	g := mla.Generation{Thoughts: func(text string) { order = append(order, text) }, Progress: func(p mla.Progress) { last = p }}
	answer := send(t, c, "What is 27 + 58?", g)
	r := c.Last()
	if answer != "27 + 58 = 85" || r.Text != answer || strings.Join(order, "") != r.Thoughts || !strings.HasPrefix(r.Thoughts, "27 + 58: 7 + 8 = 15") {
		t.Errorf("%q after %q, told %q", answer, r.Thoughts, order)
	}
	if last.Stage != mla.Prompting || last.Total == 0 {
		t.Errorf("progress of the prompt: %+v", last)
	}
	if m := c.Messages[1]; m.Reasoning != r.Thoughts || m.Content != answer {
		t.Errorf("the conversation has %+v", m)
	}
	tool := mla.Tool{Name: "mul", Parameters: json.RawMessage(`{}`)}
	for says, broken := range map[string]struct {
		tools []mla.Tool
		g     mla.Generation
	}{
		"a tool without a name": {[]mla.Tool{{}}, mla.Generation{}},
		"no JSON object":        {[]mla.Tool{{Name: "x", Parameters: json.RawMessage(`[`)}}, mla.Generation{}},
		"root is not there":     {[]mla.Tool{tool}, mla.Generation{Grammar: "a ::= b"}},
		"both a Schema and a":   {nil, mla.Generation{Schema: "{}", Grammar: `root ::= "a"`}},
		"name of a rule":        {nil, mla.Generation{Grammar: "::="}},
	} {
		c.Tools = broken.tools
		before := len(c.Messages)
		for _, err = range c.Send(context.Background(), "x", broken.g) {
		}
		if err == nil || !strings.Contains(err.Error(), says) || len(c.Messages) != before {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// TestToolsAndSchema: with both an answer is calls whose arguments follow the tool's schema, or a text
// that follows the other one.
func TestToolsAndSchema(t *testing.T) {
	c, err := chatModel(t, mla.Options{}).NewChat("")
	if err != nil {
		t.Fatal(err)
	}
	// The model would write the numbers 12 and 34, and sentences.
	c.Tools = []mla.Tool{{Name: "mul", Parameters: json.RawMessage(`{"type": "object", "properties": {"a": {"const": 7}, "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false}`)}}
	g := mla.Generation{Schema: `{"type": "object", "properties": {"product": {"type": "integer"}}, "required": ["product"], "additionalProperties": false}`}
	if text := send(t, c, "What is 12 * 34?", g); text != "" {
		t.Errorf("beside calls: %q", text)
	}
	calls := c.Last().Calls
	if len(calls) != 1 || calls[0].Name != "mul" || calls[0].Arguments != `{"a": 7, "b": 34}` {
		t.Fatalf("calls %+v", calls)
	}
	c.Messages[1].ToolCalls[0].Arguments = `{"a": 12, "b": 34}`
	c.Messages = append(c.Messages, mla.Message{Role: mla.ToolResult, ToolCallID: calls[0].ID, Name: "mul", Content: "408"})
	for _, err := range c.Answer(t.Context(), mla.Generation{Grammar: `root ::= "12 times 34 is " [0-9]{3} "!"`}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := c.Last(); r.Text != "12 times 34 is 408!" || len(r.Calls) > 0 {
		t.Errorf("%q, calls %+v", r.Text, r.Calls)
	}
}

// TestBatchSchema: the answers of a batch follow a schema, too.
func TestBatchSchema(t *testing.T) {
	m := chatModel(t, mla.Options{Sessions: 2})
	ask := func(text string) []mla.Message { return []mla.Message{{Role: mla.User, Content: text}} }
	results, err := m.BatchChats(t.Context(), [][]mla.Message{ask("What is 1 + 2?"), ask("What is 3 + 4?")}, mla.ChatOptions{}, mla.Generation{Schema: `{"enum": [3, 7]}`})
	if err != nil || len(results) != 2 || !strings.Contains("3 7", results[0].Text) || results[1].Text == "" || results[1].Thoughts == "" {
		t.Errorf("%+v, %v", results, err)
	}
	if results, err := m.BatchChats(t.Context(), nil, mla.ChatOptions{}, mla.Generation{}); err != nil || len(results) > 0 {
		t.Errorf("no chats: %+v, %v", results, err)
	}
}

// TestChatCanceled: a message whose answer has not begun is no part of the conversation.
func TestChatCanceled(t *testing.T) {
	c, err := chatModel(t, mla.Options{}).NewChat("Be brief.")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err = range c.Send(ctx, "What is 27 + 58?", mla.Generation{}) {
	}
	if !errors.Is(err, context.Canceled) || len(c.Messages) != 1 {
		t.Errorf("%v, %d messages", err, len(c.Messages))
	}
}

// TestDraft: a chat drafts in both ways, and answers the same.
func TestDraft(t *testing.T) {
	for _, how := range []string{"ngram", "mtp"} {
		c, err := chatModel(t, mla.Options{Draft: how}).NewChat("")
		if err != nil {
			t.Fatal(err)
		}
		answer := send(t, c, "What is 27 + 58?", mla.Generation{})
		if r := c.Last(); answer != "27 + 58 = 85" || r.Drafted == 0 || r.Accepted > r.Drafted {
			t.Errorf("%s: %q, %d of %d drafted tokens taken", how, answer, r.Accepted, r.Drafted)
		}
	}
	if _, err := mla.Open(tinychat, mla.Options{Draft: "x"}); err == nil || !strings.Contains(err.Error(), `is "x"; expected ngram or mtp`) {
		t.Error(err)
	}
}

// TestGrammar: a text follows a grammar from its beginning.
func TestGrammar(t *testing.T) {
	s := session(t, open(t, mla.Options{}))
	for _, err := range s.Generate(context.Background(), "func ", mla.Generation{Grammar: `root ::= "ab" [0-9]`}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text := s.Last().Text; len(text) != 3 || text[:2] != "ab" {
		t.Errorf("%q", text)
	}
}

// TestHub: a name of the hub is downloaded once, and its progress is told.
func TestHub(t *testing.T) {
	data, err := os.ReadFile(tinychat)
	if err != nil {
		t.Fatal(err)
	}
	hub := hubtest.Serve(map[string][]byte{"m-Q8_0.gguf": data})
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", hub.URL)
	for range 2 {
		stages := map[mla.Stage]mla.Progress{}
		m, err := mla.Open("u/r:Q8_0", mla.Options{Device: "cpu", Progress: func(p mla.Progress) { stages[p.Stage] = p }})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
		if p := stages[mla.Downloading]; hub != nil && (p.Done != int64(len(data)) || p.Done != p.Total) {
			t.Errorf("%+v", p)
		}
		if hub != nil {
			hub.Close()
			hub = nil
		}
	}
	if _, err := mla.Open("u/gone", mla.Options{}); err == nil {
		t.Error("a model that is not in the cache, without a hub")
	}
}

// TestServer: a model that is served has no other sessions, and a closed server frees it.
func TestServer(t *testing.T) {
	m, err := mla.Open(tinychat, mla.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewServer(mla.ServerOptions{Keys: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.NewSession(); err == nil {
		t.Error("a session beside the server")
	}
	if _, err := m.NewServer(mla.ServerOptions{}); err == nil {
		t.Error("a second server")
	}
	for key, status := range map[string]int{"": http.StatusUnauthorized, "Bearer secret": http.StatusOK} {
		r := httptest.NewRequest("GET", "http://localhost/v1/models", nil)
		r.Header.Set("Authorization", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != status || status == http.StatusOK && !strings.Contains(w.Body.String(), strings.TrimSuffix(filepath.Base(tinychat), ".gguf")) {
			t.Errorf("with key %q: %d %s", key, w.Code, w.Body)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
