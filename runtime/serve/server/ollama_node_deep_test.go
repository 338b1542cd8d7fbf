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

// TestOllamaNode checks that Ollama's JavaScript client understands the server, streaming and not.
func TestOllamaNode(t *testing.T) {
	s := serve(t, nil, chats...)
	install := exec.Command("sh", "../../../scripts/ollama-node.sh")
	install.Stderr = os.Stderr
	program, err := install.Output()
	if err != nil {
		t.Fatal(err)
	}
	client := exec.Command("node", strings.TrimSpace(string(program)), s.url)
	client.Stderr = os.Stderr
	text, err := client.Output()
	if err != nil {
		t.Fatal(err)
	}
	const hello = `{"content": "Grüezi, how are you?", "thinking": "They greet.", "calls": []}`
	const asked = `{"content": "One moment.", "thinking": "I ask.", "calls": [["weather", {"city": "Zürich \"old\"", "days": 3}], ["now", {}]]}`
	want := `{"whole": ` + hello + `, "streamed": ` + hello + `, "done": [true, "stop", true, true, true], "pieces": true, "last": [true, "stop"],
		"asked": ` + asked + `, "askedStreamed": ` + asked + `, "answer": {"content": "It is 12 degrees.", "thinking": "Cold.", "calls": []},
		"generate": "Done.", "limited": "length", "loaded": "load", "list": ["tiny"], "ps": ["tiny"], "show": ["completion", "tools", "thinking", "insert"], "version": "string",
		"embed": [400, "embeddings are not supported: the server makes texts only"], "pull": [400, "pull is not supported: the server has the models that it was started with"],
		"remove": [400, "delete is not supported: the server has the models that it was started with"], "wrong": [400, "temperature: -1 is not between 0 and 100"]}`
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
}
