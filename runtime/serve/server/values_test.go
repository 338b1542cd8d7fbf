package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyValues: short values take more memory than their text, so a body, and arguments in
// it, may have only that many; a list of tokens may be longer.
func TestManyValues(t *testing.T) {
	s := serve(t, nil)
	many := func(text string) string { return strings.Repeat(text+",", 1<<17) + text }
	for _, q := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"messages":[` + many(`{}`) + `]}`, "more than 131072 values"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"zork":{"a":[` + many(`1`) + `]}}`, "more than 131072 values"},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[` + many(`{"type":"text"}`) + `]}]}`, "more than 131072 values"},
		{"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[` + many(`1`) + `]"}}]}]}`, "the arguments have more than 131072 values"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{` + names(257) + `}}`, "chat_template_kwargs: more than 256 names"},
		{"/detokenize", `{"tokens":[` + strings.Repeat("1,", 1<<22) + `1]}`, "more than 4194304"},
		{"/v1/completions", `{"prompt":[[` + many(`1`) + `]]}`, "prompt is too long"},
	} {
		r, text := s.do("POST", q.path, q.body)
		if r.StatusCode != 400 || !strings.Contains(text, q.want) {
			t.Errorf("%s %.60s: %s %.200s; want %s", q.path, q.body, r.Status, text, q.want)
		}
	}
}

// names are members of an object, all different.
func names(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d":1`, i))
	}
	return strings.Join(list, ",")
}

// TestManyParts: what a message consists of is put together in linear time. Adding text to
// text would take minutes.
func TestManyParts(t *testing.T) {
	s := serve(t, nil)
	text := strings.Repeat("x", 1000)
	list := func(part string) string { return strings.Repeat(part+",", 20_000) + part }
	start := time.Now()
	for _, q := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[` + list(`{"type":"text","text":"`+text+`"}`) + `]}]}`},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[` + list(`{"type":"text","text":"`+text+`"}`) + `]}]}`},
	} {
		if r, text := s.do("POST", q.path, q.body); r.StatusCode != 400 || !strings.Contains(text, "prompt is too long") {
			t.Errorf("%s: %s %.200s", q.path, r.Status, text)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
