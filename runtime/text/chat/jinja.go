package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	engine "mla/runtime/text/chat/jinja"
)

// jinja runs the template of a model file. It follows Hugging Face's apply_chat_template: blocks remove their
// line (trim_blocks, lstrip_blocks), documents is none, enable_thinking is defined only if the caller chose a
// value, and raise_exception returns an error.
type jinja struct {
	source   string
	template *engine.Template
	hints    Hints
	// textArguments says that the template wants the arguments of calls as JSON text.
	textArguments bool
}

// renderTime is how long the template of an untrusted file may take for one prompt. The engine also limits
// its steps and its memory.
const renderTime = 10 * time.Second

func newJinja(template string, h Hints) (*jinja, error) {
	parsed, err := engine.Parse(template)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.chat_template is not supported: %w", err)
	}
	return &jinja{source: template, template: parsed, hints: h, textArguments: joined.MatchString(template)}, nil
}

func (*jinja) Name() string { return "jinja" }

// turnEnds are tokens with which templates end a turn.
var turnEnds = []string{
	"<|im_end|>", "<|eot_id|>", "<|end|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>",
	"<|user|>", "<|observation|>", "<｜end▁of▁sentence｜>", "<|message_sep|>",
}

// Stops returns EOS and the turn ends that the template mentions.
func (j *jinja) Stops() (stops []string) {
	if j.hints.EOS != "" {
		stops = append(stops, j.hints.EOS)
	}
	for _, end := range turnEnds {
		if strings.Contains(j.source, end) && !slices.Contains(stops, end) {
			stops = append(stops, end)
		}
	}
	return stops
}

func (j *jinja) Render(messages []Message, opts Options) (string, error) {
	text, err := j.render(messages, opts)
	if other, ok := opts.harder(j.source); ok && err != nil {
		return j.render(messages, other)
	}
	return text, err
}

func (j *jinja) render(messages []Message, opts Options) (string, error) {
	vars, err := j.variables(messages, opts)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), renderTime)
	defer cancel()
	text, err := j.template.Render(ctx, vars, time.Now())
	if err != nil {
		return "", fmt.Errorf("tokenizer.chat_template: %w", err)
	}
	return text, nil
}

// variables is the variables of the template.
func (j *jinja) variables(messages []Message, opts Options) (map[string]any, error) {
	list := make([]any, len(messages))
	for i, m := range messages {
		var err error
		if list[i], err = j.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	vars := map[string]any{
		"messages":              engine.NewList(list...),
		"add_generation_prompt": opts.AddGenerationPrompt,
		"bos_token":             j.hints.BOS,
		"eos_token":             j.hints.EOS,
		"tools":                 nil,
		"documents":             nil,
	}
	if len(opts.Tools) > 0 {
		tools := make([]any, len(opts.Tools))
		for i, text := range opts.Tools {
			var err error
			if tools[i], err = engine.FromJSON(text, false); err != nil {
				return nil, fmt.Errorf("tool %d: %w", i, err)
			}
		}
		vars["tools"] = engine.NewList(tools...)
	}
	given, err := opts.given()
	if err != nil {
		return nil, err
	}
	maps.Copy(vars, opts.switches(j.source))
	maps.Copy(vars, given)
	return vars, nil
}

// message is a message as the template sees it.
func (j *jinja) message(m Message) (*engine.Dict, error) {
	var content any = m.Content
	if list, ok := thoughtContent(j.source, m); ok {
		content, m.Reasoning, m.Reasoned = list, "", false
	}
	out := engine.NewDict("role", m.Role, "content", content)
	if m.Reasoning != "" || m.Reasoned {
		out.Set("reasoning_content", m.Reasoning)
	}
	if m.ToolCallID != "" {
		out.Set("tool_call_id", m.ToolCallID)
	}
	if m.Name != "" {
		out.Set("name", m.Name)
	}
	if len(m.ToolCalls) == 0 {
		return out, nil
	}
	calls := make([]any, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		arguments, err := j.arguments(c)
		if err != nil {
			return nil, err
		}
		calls[i] = engine.NewDict("id", c.ID, "type", "function", "function", engine.NewDict("name", c.Name, "arguments", arguments))
	}
	out.Set("tool_calls", engine.NewList(calls...))
	return out, nil
}

// arguments is an object, unless the template concatenates it with text. If the template accepts both, only
// malformed arguments are a text.
func (j *jinja) arguments(c ToolCall) (any, error) {
	whole := object(c.Arguments)
	if j.textArguments || whole != c.Arguments && textual.MatchString(j.source) {
		return c.Arguments, nil
	}
	x, err := engine.FromJSON([]byte(whole), true)
	if _, ok := x.(*engine.Dict); err != nil || !ok {
		return nil, fmt.Errorf("the arguments of %s: %w", c.Name, errors.Join(err, errors.New("expected a JSON object")))
	}
	return x, nil
}

// joined matches templates that concatenate a call's arguments with text, such as DeepSeek's.
var joined = regexp.MustCompile(`\+\s*[\w.\[\]'"]*arguments['"\]]*\s*[-+}]|arguments['"\]]*\s*\+`)

// Template implements Renderer.
func (j *jinja) Template() string { return j.source }

// PythonJSON formats a JSON text as Python's json.dumps(x, ensure_ascii=False) does, the form that models
// were trained on: a space after commas and colons, keys in their order, numbers as Python writes them.
func PythonJSON(text string) (string, error) {
	v, err := engine.FromJSON(json.RawMessage(text), false)
	if err != nil {
		return "", err
	}
	return engine.ToJSON(v)
}
