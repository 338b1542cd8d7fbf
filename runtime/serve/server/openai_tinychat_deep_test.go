//go:build !race && !noclients && deep

// As openai_test.go: the client takes minutes to compile.

package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// toys are the tools that tinychat was trained to call.
var toys = []openai.ChatCompletionToolUnionParam{
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Description: openai.String("The weather in a city."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}}),
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "multiply", Description: openai.String("The product of two numbers."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}, "b": map[string]any{"type": "integer"}}, "required": []string{"a", "b"}}}),
}

// TestTinychat checks that a trained model thinks, adds, calls tools and reads their results, through
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
