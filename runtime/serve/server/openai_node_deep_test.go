//go:build deep

package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// TestOpenAINode checks that OpenAI's JavaScript client understands the server, streaming and not.
func TestOpenAINode(t *testing.T) {
	s := serve(t, nil, append(structuredChats, chats...)...)
	install := exec.Command("sh", "../../../scripts/openai-node.sh")
	install.Stderr = os.Stderr
	program, err := install.Output()
	if err != nil {
		t.Fatal(err)
	}
	client := exec.Command("node", strings.TrimSpace(string(program)), s.url+"/v1")
	client.Stderr = os.Stderr
	text, err := client.Output()
	if err != nil {
		t.Fatal(err)
	}
	way := `{"hello": {"content": "Grüezi, how are you?", "reasoning": "They greet."}, "finish": "stop", "usage": 43,
		"weather": {"content": "One moment.", "reasoning": "I ask.", "calls": [["weather", "{\"city\": \"Zürich \\\"old\\\"\", \"days\": 3}"], ["now", "{}"]]}, "why": "tool_calls",
		"answer": "It is 12 degrees.", "cached": true, "city": "{\"city\": \"Zürich\", \"days\": 3}", "likely": [["T", 2]]}`
	want := `{"whole": ` + way + `, "streamed": ` + way + `, "parsed": {"city": "Zürich", "days": 3}, "text": "Done.",
		"response": "Grüezi, how are you?", "final": [["reasoning", "They greet."], ["message", "Grüezi, how are you?"]], "models": ["tiny"],
		"events": ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.reasoning_text.delta", "response.reasoning_text.done",
			"response.content_part.done", "response.output_item.done", "response.output_text.delta", "response.output_text.done", "response.completed"], "bad": {"kind": "BadRequestError", "status": 400, "param": "temperature", "code": "invalid_value", "id": "string"},
		"missing": {"kind": "NotFoundError", "status": 404, "param": "model", "code": "model_not_found", "id": "string"}}`
	var got, expected map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	for name := range expected {
		if !reflect.DeepEqual(got[name], expected[name]) {
			t.Errorf("%s:\n got %v\nwant %v", name, got[name], expected[name])
		}
	}
	s.wait("the request of a client who has gone to end", func() bool { return len(s.service.Requests()) == 0 })
}
