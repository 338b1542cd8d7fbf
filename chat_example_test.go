package mla_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"mla"
)

// The chat model that comes with the module. It thinks, and calls two toy tools.
const tinychat = "testdata/tinychat.gguf"

// openChat opens the chat model.
func openChat(o mla.Options) *mla.Model {
	o.Device = "cpu"
	model, err := mla.Open(tinychat, o)
	if err != nil {
		log.Fatal(err)
	}
	return model
}

// Thoughts of a model come apart from its answer.
func ExampleChat_Send() {
	model := openChat(mla.Options{})
	defer model.Close()
	chat, err := model.NewChat("")
	if err != nil {
		log.Fatal(err)
	}
	for text, err := range chat.Send(context.Background(), "What is 27 + 58?", mla.Generation{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(text)
	}
	fmt.Printf("\nbefore: %s\n", chat.Last().Thoughts)
	// Output:
	// 27 + 58 = 85
	// before: 27 + 58: 7 + 8 = 15, 2 + 5 + 1 = 8. The sum is 85.
}

// The model calls a tool, the program runs it, and the model answers with the result.
func ExampleChat_Answer() {
	model := openChat(mla.Options{})
	defer model.Close()
	chat, err := model.NewChat("")
	if err != nil {
		log.Fatal(err)
	}
	chat.Tools = []mla.Tool{{Name: "mul", Parameters: json.RawMessage(
		`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}`)}}
	answer := chat.Send(context.Background(), "What is 12 * 34?", mla.Generation{})
	for {
		for text, err := range answer {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(text)
		}
		calls := chat.Last().Calls
		if len(calls) == 0 {
			break
		}
		for _, call := range calls {
			fmt.Printf("%s(%s)\n", call.Name, call.Arguments)
			var n struct{ A, B int }
			if err := json.Unmarshal([]byte(call.Arguments), &n); err != nil {
				log.Fatal(err)
			}
			chat.Messages = append(chat.Messages, mla.Message{Role: mla.ToolResult, ToolCallID: call.ID, Name: call.Name, Content: fmt.Sprint(n.A * n.B)})
		}
		answer = chat.Answer(context.Background(), mla.Generation{})
	}
	// Output:
	// mul({"a": 12, "b": 34})
	// 12 times 34 is 408.
}

// An answer follows a JSON Schema, whatever the model would like to write.
func ExampleGeneration() {
	model := openChat(mla.Options{})
	defer model.Close()
	chat, err := model.NewChat("")
	if err != nil {
		log.Fatal(err)
	}
	form := mla.Generation{Schema: `{"type": "object", "properties": {"even": {"type": "boolean"}}, "required": ["even"], "additionalProperties": false}`}
	var text strings.Builder
	for piece, err := range chat.Send(context.Background(), "What is 2 + 2?", form) {
		if err != nil {
			log.Fatal(err)
		}
		text.WriteString(piece)
	}
	var answer map[string]bool
	fmt.Println(json.Unmarshal([]byte(text.String()), &answer), len(answer))
	// Output: <nil> 1
}

// Several conversations side by side.
func ExampleModel_BatchChats() {
	model := openChat(mla.Options{Sessions: 3})
	defer model.Close()
	var chats [][]mla.Message
	for _, question := range []string{"What is 1 + 2?", "What is 30 + 4?", "Hi, I'm Zoe!"} {
		chats = append(chats, []mla.Message{{Role: mla.User, Content: question}})
	}
	results, err := model.BatchChats(context.Background(), chats, mla.ChatOptions{}, mla.Generation{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Text)
	}
	// Output:
	// 1 + 2 = 3
	// 30 + 4 = 34
	// Nice to meet you, Zoe!
}

// A server is an http.Handler: it has the API of mlarun serve, and its page.
func ExampleModel_NewServer() {
	model := openChat(mla.Options{Sessions: 2})
	defer model.Close()
	server, err := model.NewServer(mla.ServerOptions{Name: "tiny"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	web := httptest.NewServer(server)
	defer web.Close()
	resp, err := http.Post(web.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model": "tiny", "messages": [{"role": "user", "content": "What is 27 + 58?"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content  string
				Thoughts string `json:"reasoning_content"`
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Choices[0].Message.Content)
	// Output: 27 + 58 = 85
}

// A model of the Hugging Face hub is downloaded once, and stays in the hub's cache.
func ExampleOpenContext() {
	model, err := mla.OpenContext(context.Background(), "tencent/Youtu-LLM-2B-GGUF:Q4_0", mla.Options{
		Progress: func(p mla.Progress) { fmt.Fprintf(os.Stderr, "\r%s: %d of %d bytes", p.Stage, p.Done, p.Total) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
}
