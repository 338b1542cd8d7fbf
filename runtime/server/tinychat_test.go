//go:build !race

package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"mla/generated"
	"mla/runtime/bind"
	"mla/runtime/chat"
	"mla/runtime/completion"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/sample"
	"mla/runtime/server"
)

// tinychat serves the small model for chats that ships with the project, with guesses of its
// layer that predicts.
func tinychat(t *testing.T) *served {
	t.Helper()
	d := cpu.New()
	e, err := engine.Open("../../testdata/tinychat.gguf", engine.Options{Bundles: generated.Bundles(), Device: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	predicts, err := bind.Choose(e.File(), generated.Bundles(), bind.Wish{Act: e.Bundle().Act(), Class: d.Class(), NextN: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Predict(e.File(), predicts); err != nil {
		t.Fatal(err)
	}
	tok, err := e.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(tok.ChatTemplate(), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, server.Config{Model: "tinychat", Context: length, Chat: renderer, Sampling: sample.Off()}, completion.Config{
		Tokenizer: tok, Queue: 16, Draft: func(s *engine.Session) (engine.Drafter, error) { return s.Predictor() },
		Load: func(context.Context) (*engine.Model, error) {
			return e.Load(device.Config{Context: length, Tables: sessions, Pages: sessions * plan.Pages(length), KV: quant.F16, Threads: 2, Width: e.Bundle().Width()})
		},
	})
}

// toys are the tools that tinychat was trained to call.
var toys = []openai.ChatCompletionToolUnionParam{
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Description: openai.String("The weather in a city."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}}),
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "multiply", Description: openai.String("The product of two numbers."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}, "b": map[string]any{"type": "integer"}}, "required": []string{"a", "b"}}}),
}

// TestTinychat: a trained model thinks, adds, calls tools and reads their results, through
// OpenAI's client.
func TestTinychat(t *testing.T) {
	s := tinychat(t)
	c := openAI(s)
	for way, get := range ways {
		out, reasoning := get(t, c, ask("What is 27 + 58?"))
		if got := out.Choices[0].Message.Content; got != "27 + 58 = 85" || !strings.Contains(reasoning, "7 + 8 = 15") {
			t.Errorf("%s: %q after %q", way, got, reasoning)
		}
		q := ask("What is 27 + 58?")
		q.SetExtraFields(map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}})
		if out, reasoning = get(t, c, q); reasoning != "" || !strings.Contains(out.Choices[0].Message.Content, "The sum is 85.") {
			t.Errorf("%s: %q after %q", way, out.Choices[0].Message.Content, reasoning)
		}

		q = ask("What is the weather in Oslo and Rome?")
		q.Tools = toys
		out, reasoning = get(t, c, q)
		first := out.Choices[0].Message
		if len(first.ToolCalls) != 2 {
			t.Fatalf("%s: %+v", way, first)
		}
		answer := first.ToParam()
		answer.OfAssistant.SetExtraFields(map[string]any{"reasoning_content": reasoning})
		q.Messages = append(q.Messages, answer)
		for i, city := range []string{"Oslo", "Rome"} {
			if call := first.ToolCalls[i]; call.Function.Name != "get_weather" || call.Function.Arguments != fmt.Sprintf(`{"city": %q}`, city) {
				t.Errorf("%s: %+v", way, call)
			}
			q.Messages = append(q.Messages, openai.ToolMessage(fmt.Sprintf(`{"city": %q, "sky": "rainy", "celsius": %d}`, city, 7+i), first.ToolCalls[i].ID))
		}
		out, _ = get(t, c, q)
		if got := out.Choices[0].Message.Content; got != "It is rainy in Oslo, at 7 degrees. It is rainy in Rome, at 8 degrees." {
			t.Errorf("%s: %q", way, got)
		}
	}
	families := s.scrape()
	drafted, accepted := families["mla_drafted_tokens_total"].Metric[0].Counter.GetValue(), families["mla_accepted_tokens_total"].Metric[0].Counter.GetValue()
	if drafted == 0 || accepted < drafted/2 {
		t.Errorf("%v of %v guesses right", accepted, drafted)
	}
}

// testPageTinychat has a conversation with it on the page.
func testPageTinychat(t *testing.T, browser context.Context) {
	s := tinychat(t)
	b := open(t, browser, s.url)
	b.until("document.getElementById('model-name').textContent === 'tinychat'")
	for _, c := range []struct{ say, want string }{
		{"Hi, I'm Zoe!", "Nice to meet you, Zoe!"},
		{"What's my name?", "Your name is Zoe."},
		{"27 + 58", "27 + 58 = 85"},
		{"Count down from 9 to 6.", "9, 8, 7, 6."},
	} {
		b.say(c.say)
		if got := b.last(".text:not(.thinking .text)"); got != c.want {
			t.Errorf("%q: %q; expected %q", c.say, got, c.want)
		}
	}
	b.run(click(".message:last-of-type summary"))
	b.say("Make a table of the first 4 multiples of 7.")
	b.until("[...document.querySelectorAll('.assistant td')].at(-1)?.innerText === '28'")
	b.show(1280, 860, "light")
	b.picture("tinychat")
	b.quiet()
}
