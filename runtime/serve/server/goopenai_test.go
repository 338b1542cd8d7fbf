package server_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sashabaranov/go-openai"
)

func goOpenAI(s *served) *openai.Client {
	config := openai.DefaultConfig("key")
	config.BaseURL = s.url + "/v1"
	return openai.NewClientWithConfig(config)
}

// goWeather returns a question in a conversation with a tool.
func goWeather(text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    "any",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}},
		Tools: []openai.Tool{
			{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "weather", Parameters: map[string]any{
				"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}}}},
			{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "now", Parameters: map[string]any{"type": "object"}}},
		},
	}
}

// TestGoOpenAI checks a small Go client, which compiles in seconds: it chats, streams, calls tools and reads
// errors. The deep tier tests the clients of OpenAI and Anthropic.
func TestGoOpenAI(t *testing.T) {
	c, ctx := goOpenAI(serve(t, nil, chats...)), context.Background()
	if list, err := c.ListModels(ctx); err != nil || len(list.Models) != 1 || list.Models[0].ID != "tiny" {
		t.Errorf("models: %+v, %v", list.Models, err)
	}
	hello := openai.ChatCompletionRequest{Model: "any", Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Hello"}}}
	answer, err := c.CreateChatCompletion(ctx, hello)
	if err != nil {
		t.Fatal(err)
	}
	if m := answer.Choices[0]; m.Message.Content != "Grüezi, how are you?" || m.Message.ReasoningContent != "They greet." || m.FinishReason != openai.FinishReasonStop || answer.Usage.TotalTokens != 43 {
		t.Errorf("%+v, usage %+v", m, answer.Usage)
	}
	if text := goStreamed(t, c, hello); text != "Grüezi, how are you?" {
		t.Errorf("streamed: %q", text)
	}
	question := goWeather("Weather?")
	if answer, err = c.CreateChatCompletion(ctx, question); err != nil {
		t.Fatal(err)
	}
	called := answer.Choices[0].Message
	if len(called.ToolCalls) != 2 || called.ToolCalls[0].Function.Name != "weather" || called.ToolCalls[0].Function.Arguments != `{"city": "Zürich \"old\"", "days": 3}` || answer.Choices[0].FinishReason != openai.FinishReasonToolCalls {
		t.Fatalf("%+v", answer.Choices[0])
	}
	question.Messages = append(question.Messages, called)
	for _, call := range called.ToolCalls {
		question.Messages = append(question.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: "12 degrees"})
	}
	if answer, err = c.CreateChatCompletion(ctx, question); err != nil || answer.Choices[0].Message.Content != "It is 12 degrees." {
		t.Errorf("after the calls: %+v, %v", answer.Choices, err)
	}
	hello.Temperature = 101
	var refused *openai.APIError
	if _, err = c.CreateChatCompletion(ctx, hello); !errors.As(err, &refused) || refused.HTTPStatusCode != 400 || refused.Param == nil || *refused.Param != "temperature" {
		t.Errorf("a wrong parameter: %v", err)
	}
}

// goStreamed returns the text of a stream.
func goStreamed(t *testing.T, c *openai.Client, q openai.ChatCompletionRequest) (text string) {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range piece.Choices {
			text += choice.Delta.Content
		}
	}
}
