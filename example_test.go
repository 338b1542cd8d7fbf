package mla_test

import (
	"context"
	"fmt"
	"log"

	"mla"
)

// The model that comes with the module: 7 MB, trained on Go source code.
const tiny = "testdata/tinyglm.gguf"

// Open a model, and continue a text piece by piece.
func Example() {
	model, err := mla.Open(tiny, mla.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	for text, err := range session.Generate(context.Background(), "for i := 0; i < ", mla.Generation{Max: 16}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(text)
	}
	fmt.Printf("\n%d tokens, then %s\n", len(session.Last().Tokens), session.Last().Reason)
	// Output:
	// 100; i++ {
	// 		if i%10 == 0 {
	// 			i
	// 16 tokens, then length
}

// A chat keeps the conversation. The model for chats that comes with the module is tiny, too:
// it greets, adds, counts and calls two toy tools.
func ExampleModel_NewChat() {
	model, err := mla.Open("testdata/tinychat.gguf", mla.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	chat, err := model.NewChat("")
	if err != nil {
		log.Fatal(err)
	}
	thinking := false
	chat.Thinking = &thinking
	for _, question := range []string{"Hi, I'm Zoe!", "What's my name?", "What is 27 + 58?"} {
		for _, err := range chat.Send(context.Background(), question, mla.Generation{Max: 100}) {
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	for _, m := range chat.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Content)
	}
	// Output:
	// user: Hi, I'm Zoe!
	// assistant: Nice to meet you, Zoe!
	// user: What's my name?
	// assistant: Your name is Zoe.
	// user: What is 27 + 58?
	// assistant: 27 + 58: 7 + 8 = 15, 2 + 5 + 1 = 8. The sum is 85.
}

// Several texts side by side: their tokens are run in one batch.
func ExampleModel_Batch() {
	model, err := mla.Open(tiny, mla.Options{Device: "cpu", Sessions: 3, Context: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	prompts := []string{"import (\n", "if err != nil {\n", "type Reader interface {\n"}
	results, err := model.Batch(context.Background(), prompts, mla.Generation{Stop: []string{"\n"}})
	if err != nil {
		log.Fatal(err)
	}
	for i, r := range results {
		fmt.Printf("%q goes on with %q\n", prompts[i], r.Text)
	}
	// Output:
	// "import (\n" goes on with "\t\"errors\""
	// "if err != nil {\n" goes on with "\t\tt.Fatal(err)"
	// "type Reader interface {\n" goes on with "\t// Reader is a wrapper around a Reader."
}

// Logits say how likely each token is to follow.
func ExampleSession_Logits() {
	model, err := mla.Open(tiny, mla.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	logits, err := session.Logits(context.Background(), model.Tokenize("if err !="))
	if err != nil {
		log.Fatal(err)
	}
	best := 0
	for id, x := range logits {
		if x > logits[best] {
			best = id
		}
	}
	fmt.Printf("%d logits; the best is %q\n", len(logits), model.Detokenize([]int32{int32(best)}))
	// Output: 4096 logits; the best is " nil"
}

// Sampling with a seed gives the same text every time.
func ExampleGreedy() {
	model, err := mla.Open(tiny, mla.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	sampling := mla.Greedy()
	sampling.Temperature, sampling.TopK, sampling.Seed = 0.8, 40, 7
	var texts [2]string
	for i := range texts {
		session, err := model.NewSession()
		if err != nil {
			log.Fatal(err)
		}
		for text, err := range session.Generate(context.Background(), "// Package ", mla.Generation{Max: 16, Sampling: &sampling}) {
			if err != nil {
				log.Fatal(err)
			}
			texts[i] += text
		}
		session.Close()
	}
	fmt.Println(texts[0] == texts[1], texts[0] != "")
	// Output: true true
}
