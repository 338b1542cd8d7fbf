//go:build !race && !noclients && deep

// The client takes minutes to compile, so neither the race detector nor what is vetted for macOS
// has it; TestSoak has its requests.

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"mla/runtime/serve/completion/completiontest"
)

func openAI(s *served) openai.Client {
	return openai.NewClient(option.WithBaseURL(s.url+"/v1"), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

var weather = []openai.ChatCompletionToolUnionParam{
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: shared.FunctionParameters{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}}}),
	openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "now"}),
}

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

// streamed returns the sum of a stream, and its reasoning, which the client does not know.
func streamed(t *testing.T, c openai.Client, q openai.ChatCompletionNewParams) (openai.ChatCompletion, string) {
	t.Helper()
	q.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(context.Background(), q)
	acc := openai.ChatCompletionAccumulator{}
	reasoning := ""
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			t.Errorf("the client does not accept %s", chunk.RawJSON())
		}
		for _, choice := range chunk.Choices {
			var piece string
			if f, ok := choice.Delta.JSON.ExtraFields["reasoning_content"]; ok {
				if err := json.Unmarshal([]byte(f.Raw()), &piece); err != nil {
					t.Error(err)
				}
			}
			reasoning += piece
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.ChatCompletion, reasoning
}

// whole returns the same as streamed, without a stream.
func whole(t *testing.T, c openai.Client, q openai.ChatCompletionNewParams) (openai.ChatCompletion, string) {
	t.Helper()
	out, err := c.Chat.Completions.New(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	reasoning := ""
	if f, ok := out.Choices[0].Message.JSON.ExtraFields["reasoning_content"]; ok {
		if err := json.Unmarshal([]byte(f.Raw()), &reasoning); err != nil {
			t.Error(err)
		}
	}
	return *out, reasoning
}

var ways = map[string]func(*testing.T, openai.Client, openai.ChatCompletionNewParams) (openai.ChatCompletion, string){"whole": whole, "streamed": streamed}

func TestChat(t *testing.T) {
	c := openAI(serve(t, nil, chats...))
	for way, get := range ways {
		out, reasoning := get(t, c, ask("Hello"))
		got := out.Choices[0]
		if got.Message.Content != "Grüezi, how are you?" || reasoning != "They greet." || got.FinishReason != "stop" || out.Model != "tiny" {
			t.Errorf("%s: %q, %q, %s", way, got.Message.Content, reasoning, out.RawJSON())
		}
		// [gMASK] <sop> <|user|> Hello <|assistant|> <think>, and two bytes of ü.
		if u := out.Usage; u.PromptTokens != 10 || u.CompletionTokens != 11+1+21 || u.TotalTokens != 43 || u.CompletionTokensDetails.ReasoningTokens != 12 {
			t.Errorf("%s: %s", way, u.RawJSON())
		}
		q := ask("Hello")
		q.MaxCompletionTokens = openai.Int(14)
		out, _ = get(t, c, q)
		if got := out.Choices[0]; got.Message.Content != "Gr" || got.FinishReason != "length" {
			t.Errorf("%s, cut: %+v", way, got)
		}
		q = ask("Hello")
		q.Stop.OfStringArray = []string{"nothing", "how"}
		out, _ = get(t, c, q)
		if got := out.Choices[0]; got.Message.Content != "Grüezi, " || got.FinishReason != "stop" {
			t.Errorf("%s, stopped: %+v", way, got)
		}
		q = ask("Quick")
		q.SetExtraFields(map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}})
		q.N = openai.Int(3)
		out, reasoning = get(t, c, q)
		if len(out.Choices) != 3 || out.Choices[2].Message.Content != "Done." || reasoning != "" || out.Usage.CompletionTokens != 15 {
			t.Errorf("%s, three: %+v, usage %+v", way, out.Choices, out.Usage)
		}
	}
}

func TestChatLogprobs(t *testing.T) {
	c := openAI(serve(t, nil, chats...))
	for way, get := range ways {
		q := ask("Quick")
		q.ReasoningEffort = "none"
		q.Logprobs, q.TopLogprobs = openai.Bool(true), openai.Int(2)
		out, _ := get(t, c, q)
		list := out.Choices[0].Logprobs.Content
		if len(list) != 5 || list[0].Token != "D" || list[0].Logprob > 0 || len(list[0].TopLogprobs) != 2 || list[0].TopLogprobs[0].Token != "D" || math.Abs(list[0].TopLogprobs[0].Logprob-list[0].TopLogprobs[1].Logprob-2) > 1e-3 || list[0].Bytes[0] != 'D' {
			t.Errorf("%s: %+v", way, list)
		}
	}
}

// TestTools checks calls, and sends them back with the tools' results.
func TestTools(t *testing.T) {
	s := serve(t, nil, chats...)
	c := openAI(s)
	for way, get := range ways {
		q := ask("Weather?")
		q.Tools = weather
		out, reasoning := get(t, c, q)
		got := out.Choices[0]
		if got.Message.Content != "One moment." || reasoning != "I ask." || got.FinishReason != "tool_calls" || len(got.Message.ToolCalls) != 2 {
			t.Fatalf("%s: %q, %q, %+v", way, got.Message.Content, reasoning, got)
		}
		first, second := got.Message.ToolCalls[0], got.Message.ToolCalls[1]
		if first.Function.Name != "weather" || first.Function.Arguments != `{"city": "Zürich \"old\"", "days": 3}` || first.ID == "" || first.ID == second.ID || second.Function.Name != "now" || second.Function.Arguments != "{}" {
			t.Errorf("%s: %+v", way, got.Message.ToolCalls)
		}
		answer := got.Message.ToParam() // without the thoughts, as most clients send it
		q.Messages = append(q.Messages, answer, openai.ToolMessage("12 degrees", first.ID), openai.ToolMessage("noon", second.ID))
		next, _ := get(t, c, q)
		if got := next.Choices[0].Message.Content; got != "It is 12 degrees." {
			t.Errorf("%s: %q", way, got)
		}
		q.Messages[len(q.Messages)-3].OfAssistant.SetExtraFields(map[string]any{"reasoning_content": reasoning})
		if with, _ := get(t, c, q); with.Usage.PromptTokens != next.Usage.PromptTokens {
			t.Errorf("%s: %d tokens without the thoughts, with them %d", way, next.Usage.PromptTokens, with.Usage.PromptTokens)
		}
		// What the model has read and written is found again: all full pages of 64, but
		// for the line break between text and call, which the template does not have.
		before := out.Usage.PromptTokens + int64(len("I ask.")+len("One moment."))
		if cached := next.Usage.PromptTokensDetails.CachedTokens; cached < before/64*64 || cached > next.Usage.PromptTokens {
			t.Errorf("%s: %d of %d tokens are cached; %d are the same", way, cached, next.Usage.PromptTokens, before)
		}
		q = ask("Weather?")
		q.Tools, q.ParallelToolCalls = weather, openai.Bool(false)
		if out, _ = get(t, c, q); len(out.Choices[0].Message.ToolCalls) != 1 {
			t.Errorf("%s: %+v", way, out.Choices[0].Message.ToolCalls)
		}
		q = ask("Weather?")
		q.Tools = weather
		q.ToolChoice.OfAuto = param.NewOpt("none")
		if out, _ = get(t, c, q); len(out.Choices[0].Message.ToolCalls) != 0 || !strings.Contains(out.Choices[0].Message.Content, "<tool_call>") {
			t.Errorf("%s: %+v", way, out.Choices[0])
		}
		for _, choice := range []openai.ChatCompletionToolChoiceOptionUnionParam{
			openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"}), {OfAuto: param.NewOpt("required")},
		} {
			q = ask("Forced?")
			q.Tools, q.ToolChoice = weather, choice
			out, _ = get(t, c, q)
			if calls := out.Choices[0].Message.ToolCalls; len(calls) != 1 || calls[0].Function.Arguments != `{"city": "Bern"}` {
				t.Errorf("%s: %+v", way, out.Choices[0])
			}
		}
		q = ask("Malformed?")
		q.Tools = weather
		if out, _ = get(t, c, q); out.Choices[0].Message.Content != "<tool_call>rm -rf</tool_call> oh" || out.Choices[0].FinishReason != "stop" {
			t.Errorf("%s: %+v", way, out.Choices[0])
		}
	}
	q := ask("Cut?")
	q.Tools, q.MaxTokens = weather, openai.Int(21)
	if out, _ := whole(t, c, q); !strings.HasPrefix(out.Choices[0].Message.Content, "<tool_call>weather") || out.Choices[0].FinishReason != "length" {
		t.Errorf("%+v", out.Choices[0])
	}
}

func TestCompletions(t *testing.T) {
	c := openAI(serve(t, nil, completiontest.Answer{To: "1 2", Text: " 3 4"}))
	q := openai.CompletionNewParams{Model: "any", Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"0 1 2", "1 2"}}, MaxTokens: openai.Int(10), Logprobs: openai.Int(1), Echo: openai.Bool(false)}
	out, err := c.Completions.New(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range out.Choices {
		if got.Text != " 3 4" || got.FinishReason != "stop" || len(got.Logprobs.Tokens) != 4 || int(got.Index) != i || got.Logprobs.TextOffset[3] != 3 {
			t.Errorf("%+v", got)
		}
	}
	if len(out.Choices) != 2 || out.Usage.PromptTokens != 8 || out.Usage.CompletionTokens != 8 {
		t.Errorf("%+v", out)
	}
	q.Logprobs, q.Echo = param.Opt[int64]{}, openai.Bool(true)
	stream := c.Completions.NewStreaming(context.Background(), q)
	texts := map[int64]string{}
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			texts[choice.Index] += choice.Text
		}
	}
	if err := stream.Err(); err != nil || texts[0] != "0 1 2 3 4" || texts[1] != "1 2 3 4" {
		t.Errorf("%v, %v", err, texts)
	}
}

func TestResponses(t *testing.T) {
	c := openAI(serve(t, nil, chats...))
	tools := []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer"}}}}}, {OfFunction: &responses.FunctionToolParam{Name: "now"}}}
	q := responses.ResponseNewParams{Model: "any", Instructions: openai.String("Be brief."), Tools: tools, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Weather?")}}
	for _, way := range []string{"whole", "streamed"} {
		var out *responses.Response
		var err error
		if way == "whole" {
			out, err = c.Responses.New(context.Background(), q)
		} else {
			out, err = streamedResponse(t, c, q)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out.OutputText() != "One moment." || out.Status != "completed" || len(out.Output) != 4 || out.Output[0].Type != "reasoning" || out.Usage.OutputTokens == 0 {
			t.Fatalf("%s: %s", way, out.RawJSON())
		}
		call := out.Output[2].AsFunctionCall()
		if call.Name != "weather" || call.Arguments != `{"city": "Zürich \"old\"", "days": 3}` {
			t.Errorf("%s: %+v", way, call)
		}
		result := responses.ResponseInputItemParamOfFunctionCallOutput("12 degrees")
		result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
		next := q
		next.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Weather?", responses.EasyInputMessageRoleUser),
			responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name),
			result,
		}}
		if out, err = c.Responses.New(context.Background(), next); err != nil || out.OutputText() != "It is 12 degrees." || out.Usage.InputTokensDetails.CachedTokens < 64 {
			t.Errorf("%s: %v, %s", way, err, out.RawJSON())
		}
	}
	q.MaxOutputTokens = openai.Int(3)
	if out, err := c.Responses.New(context.Background(), q); err != nil || out.Status != "incomplete" || out.IncompleteDetails.Reason != "max_output_tokens" {
		t.Errorf("%v, %s", err, out.RawJSON())
	}
	q.PreviousResponseID = openai.String("resp_1")
	var failed *openai.Error
	if _, err := c.Responses.New(context.Background(), q); !errors.As(err, &failed) || failed.StatusCode != 400 || failed.Param != "previous_response_id" {
		t.Errorf("%v", err)
	}
}

// streamedResponse checks that deltas add up to what the end says.
func streamedResponse(t *testing.T, c openai.Client, q responses.ResponseNewParams) (out *responses.Response, err error) {
	t.Helper()
	stream := c.Responses.NewStreaming(context.Background(), q)
	text, args, number := "", "", int64(0)
	for stream.Next() {
		e := stream.Current()
		if e.SequenceNumber != number {
			t.Errorf("event %d has number %d", number, e.SequenceNumber)
		}
		number++
		switch e.Type {
		case "response.output_text.delta":
			text += e.Delta
		case "response.function_call_arguments.delta":
			args += e.Delta
		case "response.output_text.done":
			if e.Text != text {
				t.Errorf("%q; deltas %q", e.Text, text)
			}
		case "response.completed":
			done := e.AsResponseCompleted().Response
			out = &done
		}
	}
	if args != `{"city": "Zürich \"old\"", "days": 3}{}` {
		t.Errorf("arguments %q", args)
	}
	return out, stream.Err()
}

func TestModels(t *testing.T) {
	c := openAI(serve(t, nil))
	page, err := c.Models.List(context.Background())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "tiny" {
		t.Errorf("%v, %+v", err, page)
	}
	if m, err := c.Models.Get(context.Background(), "tiny"); err != nil || m.ID != "tiny" {
		t.Errorf("%v, %+v", err, m)
	}
	var failed *openai.Error
	if _, err := c.Models.Get(context.Background(), "large"); !errors.As(err, &failed) || failed.StatusCode != 404 {
		t.Errorf("%v", err)
	}
	q := ask("Hello")
	q.Temperature = openai.Float(300)
	if _, err := c.Chat.Completions.New(context.Background(), q); !errors.As(err, &failed) || failed.StatusCode != 400 || failed.Param != "temperature" {
		t.Errorf("%v", err)
	}
}

// TestStructuredOutputs sends the requests of OpenAI's examples, whole and streamed, in both APIs.
func TestStructuredOutputs(t *testing.T) {
	c := openAI(serve(t, nil, structuredChats...))
	var schema map[string]any
	if err := json.Unmarshal([]byte(citySchema), &schema); err != nil {
		t.Fatal(err)
	}
	q := ask("City?")
	q.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "city", Schema: schema, Strict: openai.Bool(true)}}
	check := func(way, text string) {
		t.Helper()
		var city struct {
			City string
			Days int
		}
		if err := json.Unmarshal([]byte(text), &city); err != nil || city.City != "Zürich" || city.Days != 3 {
			t.Errorf("%s: %q, %v", way, text, err)
		}
	}
	out, err := c.Chat.Completions.New(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	check("whole", out.Choices[0].Message.Content)
	all, reasoning := streamed(t, c, q)
	check("streamed", all.Choices[0].Message.Content)
	if reasoning != "A city." || all.Choices[0].FinishReason != "stop" {
		t.Errorf("%q, %q", reasoning, all.Choices[0].FinishReason)
	}
	r, err := c.Responses.New(context.Background(), responses.ResponseNewParams{
		Model: "any", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("City?")},
		Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigParamOfJSONSchema("city", schema)}})
	if err != nil {
		t.Fatal(err)
	}
	check("responses", r.OutputText())
	q.ResponseFormat.OfJSONSchema.JSONSchema.Schema = map[string]any{"type": "array", "uniqueItems": true}
	var refused *openai.Error
	if _, err := c.Chat.Completions.New(context.Background(), q); !errors.As(err, &refused) || refused.StatusCode != 400 || !strings.Contains(refused.Message, `"uniqueItems"`) {
		t.Errorf("%v", err)
	}
}
