package clients

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
	"mla/runtime/text/sample"
)

// context_ is the model's context: agents begin with prompts of 40 kB, and a token is a byte.
const context_ = 1 << 17

// multiply returns a call of the named tool, as a client calls it.
func multiply(name string) string {
	return "I multiply.</think><tool_call>" + name + "<arg_key>a</arg_key><arg_value>12</arg_value><arg_key>b</arg_key><arg_value>34</arg_value></tool_call>"
}

// answers are a call of the tool, what is said of its result, and what the blocks of
// docs/clients.md are answered.
func answers(tool string) []completiontest.Answer {
	return []completiontest.Answer{
		{To: "product 408", Text: "It is there.</think>12 times 34 is 408."},
		{To: "What is 12 times 34?", Text: multiply(tool)},
		{To: "Why is the sky blue?", Text: "I know.</think>Small things scatter blue light."},
		{To: "<|code_middle|>", Text: "return a + b"},
		{To: "Assistant:", Text: "Small things scatter blue light."},
	}
}

// serve serves a model that writes the answers, with the name of the tool that it calls, and
// returns the address.
func serve(t *testing.T, tool string) string {
	t.Helper()
	template, err := os.ReadFile("../../../text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	m, err := completiontest.New(string(template), 4, context_, answers(tool)...)
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{Escape: m.Tokenizer.Escape})
	if err != nil {
		t.Fatal(err)
	}
	service := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 16})
	running, finish := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- service.Run(running) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: server.New(server.Config{Service: service, Model: "glm", Context: context_, Chat: renderer, Sampling: sample.Off()}), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		<-served // it says that it was closed
		finish()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(20 * time.Second); service.Stats().State == completion.Loading; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the model is still being loaded")
		}
	}
	return "http://" + l.Addr().String()
}
