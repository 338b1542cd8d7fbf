//go:build !race && !noclients && deep

// The client takes minutes to compile, so neither the race detector nor what is vetted for macOS
// has it; TestSoak has its requests.

package server_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicClient(s *served) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(s.url), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

func message(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "any", MaxTokens: 200, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}}
}

// messageWays are the ways to get an answer.
var messageWays = map[string]func(anthropic.Client, anthropic.MessageNewParams) (*anthropic.Message, error){
	"whole": func(c anthropic.Client, q anthropic.MessageNewParams) (*anthropic.Message, error) {
		return c.Messages.New(context.Background(), q)
	},
	"streamed": func(c anthropic.Client, q anthropic.MessageNewParams) (*anthropic.Message, error) {
		stream := c.Messages.NewStreaming(context.Background(), q)
		var out anthropic.Message
		for stream.Next() {
			if err := out.Accumulate(stream.Current()); err != nil {
				return nil, err
			}
		}
		return &out, stream.Err()
	},
}

func TestMessages(t *testing.T) {
	c := anthropicClient(serve(t, nil, chats...))
	schema := anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}}
	tools := []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: schema}}, {OfTool: &anthropic.ToolParam{Name: "now", InputSchema: anthropic.ToolInputSchemaParam{}}}}
	for way, get := range messageWays {
		thinking := anthropic.ThinkingConfigParamOfEnabled(1024)
		q := message("Hello")
		if out, err := get(c, q); err != nil || len(out.Content) != 1 || out.Content[0].Text != "Grüezi, how are you?" { // thoughts were not asked for
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q.Thinking = thinking
		q.System = []anthropic.TextBlockParam{{Text: "Be kind."}}
		out, err := get(c, q)
		if err != nil {
			t.Fatal(way, err)
		}
		if len(out.Content) != 2 || out.Content[0].Thinking != "They greet." || out.Content[1].Text != "Grüezi, how are you?" || out.StopReason != "end_turn" || out.Usage.OutputTokens != 33 || out.Usage.InputTokens+out.Usage.CacheReadInputTokens != 19 {
			t.Errorf("%s: %+v", way, out)
		}
		q.StopSequences = []string{"how"}
		if out, err = get(c, q); err != nil || out.StopReason != "stop_sequence" || out.StopSequence != "how" || out.Content[1].Text != "Grüezi, " {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q = message("Weather?")
		q.Tools, q.Thinking = tools, thinking
		if out, err = get(c, q); err != nil || out.StopReason != "tool_use" || len(out.Content) != 4 {
			t.Fatalf("%s: %v, %+v", way, err, out)
		}
		use := out.Content[2].AsToolUse()
		if use.Name != "weather" || string(use.Input) != `{"city": "Zürich \"old\"", "days": 3}` && string(use.Input) != `{"city":"Zürich \"old\"","days":3}` || string(out.Content[3].AsToolUse().Input) != "{}" {
			t.Errorf("%s: %s", way, use.Input)
		}
		q.Messages = append(q.Messages, out.ToParam(), anthropic.NewUserMessage(
			anthropic.NewToolResultBlock(use.ID, "12 degrees", false), anthropic.NewToolResultBlock(out.Content[3].ID, "noon", false)))
		if out, err = get(c, q); err != nil || out.Content[1].Text != "It is 12 degrees." || out.Usage.CacheReadInputTokens < 64 {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q = message("Forced?")
		q.Tools, q.ToolChoice = tools, anthropic.ToolChoiceParamOfTool("weather")
		if out, err = get(c, q); err != nil || len(out.Content) != 1 || out.Content[0].Name != "weather" {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q = message("Quick")
		q.MaxTokens, q.Thinking = 3, anthropic.ThinkingConfigParamUnion{OfDisabled: &anthropic.ThinkingConfigDisabledParam{}}
		if out, err = get(c, q); err != nil || len(out.Content) != 1 || out.Content[0].Text != "Don" || out.StopReason != "max_tokens" {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q = message("Hello") // which is cut within its thoughts
		q.MaxTokens, q.Thinking = 2, thinking
		if out, err = get(c, q); err != nil || len(out.Content) != 1 || out.Content[0].Type != "thinking" || out.StopReason != "max_tokens" {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q = message("Hello") // whose thoughts are cut after 4 tokens
		q.Thinking = anthropic.ThinkingConfigParamOfEnabled(4)
		if out, err = get(c, q); err != nil || len(out.Content) == 0 || out.Content[0].Thinking != "They" {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
		q.MaxTokens = 0
		var failed *anthropic.Error
		if _, err = get(c, q); !errors.As(err, &failed) || failed.StatusCode != 400 {
			t.Errorf("%s: %v", way, err)
		}
	}
	n, err := c.Messages.CountTokens(context.Background(), anthropic.MessageCountTokensParams{Model: "any", Messages: message("Hello").Messages})
	if err != nil || n.InputTokens != 10 {
		t.Errorf("%v, %+v", err, n)
	}
}

func TestMessagesStructured(t *testing.T) {
	c := anthropicClient(serve(t, nil, structuredChats...))
	q := message("City?")
	q.OutputConfig.Format.Schema = map[string]any{"type": "object", "required": []string{"city", "days"}, "additionalProperties": false,
		"properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}}
	for way, get := range messageWays {
		out, err := get(c, q)
		if err != nil || len(out.Content) != 1 || out.Content[0].Text != `{"city": "Zürich", "days": 3}` || out.StopReason != "end_turn" {
			t.Errorf("%s: %v, %+v", way, err, out)
		}
	}
}

// TestMessagesBrokenCalls checks that a malformed call does not become a tool_use block, streamed or not.
func TestMessagesBrokenCalls(t *testing.T) {
	tools := []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "weather"}}, {OfTool: &anthropic.ToolParam{Name: "now"}}}
	c := anthropicClient(serve(t, useTemplate(t, "../../text/chat/testdata/tools/sections.jinja"), sections...))
	glm := anthropicClient(serve(t, nil, chats...))
	for way, get := range messageWays {
		q := message("Broken?")
		q.Tools = tools
		out, err := get(c, q)
		if err != nil || len(out.Content) != 1 || out.StopReason != "end_turn" || out.Content[0].Text != "Well.<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": Bern}<｜tool▁call▁end｜>" {
			t.Errorf("%s: %v, %s", way, err, out.RawJSON())
		}
		q = message("Good?")
		q.Tools, q.MaxTokens = tools, 500
		if out, err = get(c, q); err != nil || len(out.Content) != 2 || out.StopReason != "tool_use" || out.Content[1].Name != "now" {
			t.Errorf("%s: %v, %s", way, err, out.RawJSON())
		}
		q = message("Cut?")
		q.Tools = tools
		if out, err = get(glm, q); err != nil || out.StopReason == "tool_use" {
			t.Errorf("%s: %v, %s", way, err, out.RawJSON())
		}
	}
}
