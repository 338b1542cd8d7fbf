package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
	"mla/runtime/text/tokenizer"
)

const glmEnd = "<|assistant|><think>"

// TestAgentRequests checks the fields that agents send beside plain messages, by the prompt that the model
// gets.
func TestAgentRequests(t *testing.T) {
	template, _ := seen(t)
	for _, c := range []struct{ name, path, body, want string }{
		{"system within messages", "messages", `{"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Agents: none"}]}`, "<|user|>Hi<|system|>Agents: none" + glmEnd},
		{"system before and within", "messages", `{"max_tokens": 9, "system": [{"type": "text", "text": "A"}], "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": [{"type": "text", "text": "B"}]}]}`, "<|system|>A<|user|>Hi<|system|>B" + glmEnd},
		{"a header that changes", "messages", `{"max_tokens": 9, "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2; cch=1f3a;"}, {"type": "text", "text": "A"}], "messages": [{"role": "user", "content": "Hi"}]}`, "<|system|>A<|user|>Hi" + glmEnd},
		{"server tools", "messages", `{"max_tokens": 9, "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"type": "code_execution_20250825", "name": "code_execution"}], "messages": [{"role": "user", "content": "Hi"}]}`, "<|user|>Hi" + glmEnd},
		{"blocks of a service", "messages", `{"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}, {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}]}, {"type": "text", "text": "A"}]}, {"role": "user", "content": "B"}]}`,
			"<|user|>Hi<|assistant|></think>A<|user|>B" + glmEnd},
		{"documents", "messages", `{"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "D"}}, {"type": "search_result", "source": "S", "title": "U", "content": [{"type": "text", "text": "E"}]}, {"type": "text", "text": "Q"}]}]}`,
			"<|user|>T\nD\nU S\nE\nQ" + glmEnd},
		{"a picture as a result", "messages", `{"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "see", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {"type": "base64"}}, {"type": "tool_reference", "tool_name": "f"}]}]}]}`,
			"<|user|>Hi<|assistant|></think><tool_call>see</tool_call><|observation|><tool_response>[image: this model reads only text]f</tool_response>" + glmEnd},
		{"a picture of an earlier turn", "chat/completions", `{"messages": [{"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image_url", "image_url": {"url": "x"}}]}, {"role": "assistant", "content": "I cannot."}, {"role": "user", "content": "Hi"}]}`,
			"<|user|>Look: [image: this model reads only text]<|assistant|></think>I cannot.<|user|>Hi" + glmEnd},
		{"refusals and thoughts as parts", "chat/completions", `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "T"}, {"type": "refusal", "refusal": "No."}], "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}, {"role": "tool", "content": "r", "tool_call_id": "a"}]}`,
			"<|user|>Hi<|assistant|><think>T</think>No.<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call><|observation|><tool_response>r</tool_response>" + glmEnd},
		{"vLLM's name of thoughts", "chat/completions", `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "reasoning": "R", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "content": "r", "tool_call_id": "a"}]}`,
			"<|user|>Hi<|assistant|><think>R</think><tool_call>f</tool_call><|observation|><tool_response>r</tool_response>" + glmEnd},
		{"a call that was cut", "chat/completions", `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"city\": \"Os"}}]}, {"role": "tool", "content": "r", "tool_call_id": "a"}]}`,
			`<|user|>Hi<|assistant|></think><tool_call>f<arg_key>arguments</arg_key><arg_value>{"city": "Os</arg_value></tool_call><|observation|><tool_response>r</tool_response>` + glmEnd},
		{"tools of a service", "responses", `{"input": "Hi", "tools": [{"type": "web_search"}, {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}, {"type": "local_shell"}, {"type": "file_search", "vector_store_ids": []}]}`, "<|user|>Hi" + glmEnd},
		{"items of all kinds", "responses", `{"input": [{"role": "developer", "content": "D"}, {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}, {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "S"}], "content": null, "encrypted_content": "x"},
			{"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** Begin"}, {"type": "custom_tool_call_output", "call_id": "a", "output": "done"},
			{"type": "local_shell_call", "call_id": "b", "action": {"type": "exec", "command": ["ls"]}, "status": "completed"}, {"type": "local_shell_call_output", "id": "b", "output": "files"},
			{"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "x"}},
			{"type": "function_call", "call_id": "c", "namespace": "mcp__t", "name": "add", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": "x"}]}]}`,
			"<|system|>D<|user|>Hi<|assistant|><think>S</think><tool_call>patch<arg_key>input</arg_key><arg_value>*** Begin</arg_value></tool_call><|observation|><tool_response>done</tool_response>" +
				`<|assistant|></think><tool_call>local_shell<arg_key>type</arg_key><arg_value>exec</arg_value><arg_key>command</arg_key><arg_value>["ls"]</arg_value></tool_call><|observation|><tool_response>files</tool_response>` +
				"<|assistant|></think><tool_call>mcp__t__add</tool_call><|observation|><tool_response>one[image: this model reads only text]</tool_response>" + glmEnd},
		{"whole numbers with a point", "chat/completions", `{"max_tokens": 1.0, "n": 1e0, "top_k": -1, "temperature": 3, "messages": [{"role": "user", "content": "Hi"}]}`, "<|user|>Hi" + glmEnd},
	} {
		if got := strings.TrimPrefix(template(c.path, c.body), "[gMASK]<sop>"); got != c.want {
			t.Errorf("%s:\n%s\nexpected\n%s", c.name, got, c.want)
		}
	}
}

// seen sends requests to a server, and returns the prompts that its model gets. It also has what was
// logged.
func seen(t *testing.T, change ...func(*server.Config, *completion.Config)) (prompt func(path, body string) string, log *bytes.Buffer) {
	t.Helper()
	var last string
	log = &bytes.Buffer{}
	s := serve(t, func(c *server.Config, runs *completion.Config) {
		c.Chat = recording{c.Chat, &last}
		c.Log = slog.New(slog.NewTextHandler(log, nil))
		for _, f := range change {
			f(c, runs)
		}
	}, completiontest.Answer{To: "<|assistant|>", Text: "ok"})
	return func(path, body string) string {
		t.Helper()
		r, text := s.do("POST", "/v1/"+path, body)
		if r.StatusCode != 200 {
			t.Errorf("%s %s: %s %s", path, body, r.Status, text)
			return ""
		}
		return tokenizer.Unescape(last)
	}, log
}

// recording is a renderer that keeps its last text.
type recording struct {
	chat.Renderer
	last *string
}

func (r recording) Render(messages []chat.Message, opts chat.Options) (text string, err error) {
	text, err = r.Renderer.Render(messages, opts)
	*r.last = text
	return text, err
}

// TestThinkingFields checks that the field names of every API and every engine switch thinking.
func TestThinkingFields(t *testing.T) {
	prompt, _ := seen(t)
	const on, off = "<|assistant|><think>", "<|assistant|></think>"
	body := func(fields string) string { return `{"messages": [{"role": "user", "content": "Hi"}], ` + fields + `}` }
	for fields, want := range map[string]string{
		`"reasoning_effort": "none"`: off, `"reasoning_effort": "high"`: on, `"enable_thinking": false`: off, `"thinking": {"type": "disabled"}`: off, `"thinking": {"type": "enabled", "clear_thinking": false}`: on,
		`"thinking": false`: off, `"chat_template_kwargs": {"thinking": false}`: off, `"chat_template_kwargs": {"enable_thinking": false, "other": [1]}`: off, `"chat_template_kwargs": {"enable_thinking": true}, "reasoning_effort": "none"`: on,
		`"reasoning_budget_tokens": 5`: on, `"thinking_budget_tokens": -1`: on,
	} {
		if got := prompt("chat/completions", body(fields)); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", fields, got)
		}
	}
	earlier := `"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "R"}, {"role": "user", "content": "c"}]`
	for fields, want := range map[string]bool{`"clear_thinking": false`: true, `"thinking": {"type": "enabled", "clear_thinking": false}`: true, `"chat_template_kwargs": {"clear_thinking": false}`: true, `"clear_thinking": true`: false} {
		if got := prompt("chat/completions", `{`+earlier+`, `+fields+`}`); strings.Contains(got, "<think>R</think>b") != want {
			t.Errorf("%s: %q", fields, got)
		}
	}
	for fields, want := range map[string]string{`"thinking": {"type": "adaptive"}`: on, `"thinking": {"type": "disabled"}`: off, `"thinking": {"type": "enabled", "budget_tokens": 1024}`: on} {
		if got := prompt("messages", body(`"max_tokens": 3, `+fields)); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", fields, got)
		}
	}
	thought := `"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "R", "signature": ""}, {"type": "text", "text": "b"}]}, {"role": "user", "content": "c"}]`
	for fields, want := range map[string]bool{`"max_tokens": 3`: false, `"max_tokens": 3, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}`: true} {
		if got := prompt("messages", `{`+thought+`, `+fields+`}`); strings.Contains(got, "<think>R</think>b") != want {
			t.Errorf("%s: %q", fields, got)
		}
	}
	if got := prompt("responses", `{"input": "Hi", "reasoning": {"effort": "none"}}`); !strings.HasSuffix(got, off) {
		t.Errorf("%q", got)
	}
}

// TestThinkingDefaults checks that the server's options hold for requests without such fields.
func TestThinkingDefaults(t *testing.T) {
	none := 0
	prompt, _ := seen(t, func(c *server.Config, _ *completion.Config) {
		c.Reasoning = server.Reasoning{On: new(bool), Budget: &none, Variables: map[string]json.RawMessage{"clear_thinking": json.RawMessage("false")}}
	})
	for fields, want := range map[string]string{``: "</think>", `, "reasoning_effort": "high"`: "<think>", `, "enable_thinking": true`: "<think>"} {
		if got := prompt("chat/completions", `{"messages": [{"role": "user", "content": "Hi"}]`+fields+`}`); !strings.HasSuffix(got, "<|assistant|>"+want) {
			t.Errorf("%s: %q", fields, got)
		}
	}
}

// TestToolsOfAgents checks tools that are not plain functions: tools of a namespace, tools that only a
// service can run, and Anthropic's own tools.
func TestToolsOfAgents(t *testing.T) {
	prompt, log := seen(t)
	got := prompt("responses", `{"input": "Hi", "tools": [{"type": "web_search"}, {"type": "namespace", "name": "mcp__t", "description": "x", "tools": [{"type": "function", "name": "multiply", "parameters": {"type": "object"}}, {"type": "custom", "name": "y"}]}, {"type": "namespace", "name": "mcp__u__", "tools": [{"type": "function", "name": "add"}]}]}`)
	for _, want := range []string{`"name": "mcp__t__multiply"`, `"name": "mcp__u__add"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %q", want, got)
		}
	}
	if n := strings.Count(log.String(), "custom, web_search"); n != 1 {
		t.Errorf("%d lines say what is left out: %s", n, log)
	}
	got = prompt("messages/count_tokens", `{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 10000}, {"type": "memory_20250818", "name": "memory"}, {"type": "web_fetch_20250910", "name": "web_fetch"}]}`)
	for want, is := range map[string]bool{`"name": "bash"`: true, `"old_str"`: true, `"name": "memory"`: true, "web_fetch": false} {
		if strings.Contains(got, want) != is {
			t.Errorf("%s in %q: %v", want, got, !is)
		}
	}
}

// TestNamespaces checks that a call of a namespace's function has the two names by which Codex finds it, and
// that Codex can send it back with them.
func TestNamespaces(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Go", Text: "<tool_call>mcp__t__multiply<arg_key>a</arg_key><arg_value>2</arg_value></tool_call>"}, completiontest.Answer{To: "Force", Text: "<tool_call>mcp__t__multiply</tool_call>"})
	const tools = `"tools": [{"type": "namespace", "name": "mcp__t", "tools": [{"type": "function", "name": "multiply", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]}]`
	out := s.answer("/v1/responses", `{"input": "Go", "reasoning": {"effort": "none"}, `+tools+`}`)
	item, _ := at(out, "output", 0).(map[string]any)
	if item["namespace"] != "mcp__t" || item["name"] != "multiply" || item["arguments"] != `{"a": 2}` {
		t.Errorf("%v", out)
	}
	_, text := s.do("POST", "/v1/responses", `{"input": "Go", "reasoning": {"effort": "none"}, "stream": true, `+tools+`}`)
	if strings.Count(text, `"namespace":"mcp__t"`) != 3 || strings.Contains(text, `"name":"mcp__t__multiply"`) { // added, done, and in the whole
		t.Errorf("%s", text)
	}
	out = s.answer("/v1/responses", `{"input": "Force", "tool_choice": {"type": "function", "namespace": "mcp__t", "name": "multiply"}, `+tools+`}`)
	if at(out, "output", 0, "name") != "multiply" {
		t.Errorf("%v", out)
	}
}

// TestTooLong checks that the error for a prompt that is too long has the words and fields that agents look
// for.
func TestTooLong(t *testing.T) {
	s := serve(t, nil)
	user := `"messages": [{"role": "user", "content": "` + strings.Repeat("x", length) + `"}]`
	for path, body := range map[string]string{"/v1/chat/completions": `{` + user + `}`, "/v1/messages": `{"max_tokens": 5, ` + user + `}`, "/v1/responses": `{"input": "` + strings.Repeat("x", length) + `"}`} {
		r, text := s.do("POST", path, body)
		wants := []string{"prompt is too long: 1029 tokens > 1024 maximum", "exceeds the available context size", "maximum context length is 1024 tokens"}
		if path == "/v1/messages" {
			wants = append(wants, `"type":"invalid_request_error"`)
		} else {
			wants = append(wants, `"code":"context_length_exceeded"`, `"type":"exceed_context_size_error"`, `"n_prompt_tokens":1029`, `"n_ctx":1024`)
		}
		for _, want := range wants {
			if r.StatusCode != 400 || !strings.Contains(text, want) {
				t.Errorf("%s: %s %s; expected %s", path, r.Status, text, want)
			}
		}
	}
}

// TestHiddenThoughts checks that thoughts are blocks of a message only if the request asks for them.
func TestHiddenThoughts(t *testing.T) {
	s := serve(t, nil, chats...)
	for thinking, want := range map[string]string{
		"":                                   `[{"text":"Grüezi, how are you?","type":"text"}]`,
		`, "thinking": {"type": "adaptive"}`: `[{"signature":"","thinking":"They greet.","type":"thinking"},{"text":"Grüezi, how are you?","type":"text"}]`,
		`, "thinking": {"type": "enabled", "display": "omitted"}`: `[{"signature":"","thinking":"","type":"thinking"},{"text":"Grüezi, how are you?","type":"text"}]`,
	} {
		body := `{"max_tokens": 200, "messages": [{"role": "user", "content": "Hello"}]` + thinking
		if _, text := s.do("POST", "/v1/messages", body+`}`); !strings.Contains(text, `"content":`+want) {
			t.Errorf("%s: %s", thinking, text)
		}
		_, text := s.do("POST", "/v1/messages", body+`, "stream": true}`)
		if strings.Contains(text, "thinking_delta") != strings.Contains(want, "They greet.") || strings.Count(text, `"type":"content_block_start"`) != strings.Count(want, `"type"`) {
			t.Errorf("%s: %s", thinking, text)
		}
	}
}

// TestStoredResponses checks that a client may name an earlier response instead of sending it again.
func TestStoredResponses(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Keys = []string{"a", "b"} }, slices.Concat([]completiontest.Answer{{To: "And then?", Text: "x</think>Then."}}, chats)...)
	send := func(key, body string, want int) (out map[string]any) {
		t.Helper()
		r, text := s.do("POST", "/v1/responses", body, "Authorization", "Bearer "+key)
		if err := json.Unmarshal([]byte(text), &out); err != nil || r.StatusCode != want {
			t.Errorf("%s: %s %s", body, r.Status, text)
		}
		return out
	}
	for _, stream := range []string{"", `, "stream": true`} {
		var id, item string
		if stream == "" {
			first := send("a", `{"input": "Hello"}`, 200)
			id, item = first["id"].(string), at(first, "output", 1, "id").(string)
		} else {
			_, text := s.do("POST", "/v1/responses", `{"input": "Hello", "stream": true}`, "Authorization", "Bearer a")
			var last struct {
				Response struct {
					ID     string
					Output []struct{ ID string }
				}
			}
			data := text[strings.LastIndex(text, "data: ")+len("data: "):]
			if err := json.Unmarshal([]byte(data), &last); err != nil || len(last.Response.Output) != 2 {
				t.Fatalf("%v in %s", err, data)
			}
			id, item = last.Response.ID, last.Response.Output[1].ID
		}
		for _, body := range []string{`{"previous_response_id": "` + id + `", "input": "And then?"}`, `{"input": [{"role": "user", "content": "Hello"}, {"type": "item_reference", "id": "` + item + `"}, {"role": "user", "content": "And then?"}]}`} {
			out := send("a", body, 200)
			if got := at(out, "output", 1, "content", 0, "text"); got != "Then." {
				t.Errorf("%s: %v", body, out)
			}
			send("b", body, 400) // of another key nothing is known
			send("a", `{"cache_salt": "s", `+body[1:], 400)
		}
	}
	kept := send("a", `{"input": "Hello", "store": false}`, 200)
	send("a", `{"previous_response_id": "`+kept["id"].(string)+`", "input": "x"}`, 400)
	send("a", `{"input": [{"type": "item_reference", "id": "msg_x"}]}`, 400)
}
