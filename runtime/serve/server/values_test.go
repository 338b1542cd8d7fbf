package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mla/tools/tests/race"
)

// TestManyValues checks the limit on the number of values in a body and in arguments, because short values
// take more memory than their text. A list of tokens may be longer.
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

// names returns n members of an object, all different.
func names(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d":1`, i))
	}
	return strings.Join(list, ",")
}

// TestManyParts checks that the server joins the parts of a message with memory linear in the length of the text.
// Appending part by part would allocate half of the text for each part.
func TestManyParts(t *testing.T) {
	s := serve(t, nil)
	parts := race.Rounds(20_000)
	text := strings.Repeat("x", 1000)
	list := func(part string) string { return strings.Repeat(part+",", parts) + part }
	for _, q := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[` + list(`{"type":"text","text":"`+text+`"}`) + `]}]}`},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[` + list(`{"type":"text","text":"`+text+`"}`) + `]}]}`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if r, text := s.do("POST", q.path, q.body); r.StatusCode != 400 || !strings.Contains(text, "prompt is too long") {
			t.Errorf("%s: %s %.200s", q.path, r.Status, text)
		}
		runtime.ReadMemStats(&after)
		t.Logf("%s: %d bytes, %.1f times that allocated", q.path, len(q.body), float64(after.TotalAlloc-before.TotalAlloc)/float64(len(q.body)))
		if made := after.TotalAlloc - before.TotalAlloc; made > 100*uint64(len(q.body)) {
			t.Errorf("%s: %d bytes allocated for %d", q.path, made, len(q.body))
		}
	}
}
