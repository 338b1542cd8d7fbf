package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

// jinja runs the template of a model file. It follows Hugging Face's
// apply_chat_template: blocks take their line with them (trim_blocks,
// lstrip_blocks), documents are none, enable_thinking is defined only
// when the caller chose, and raise_exception makes an error.
type jinja struct {
	source   string
	template *exec.Template
	hints    Hints
	// textArguments says that the template wants the arguments of calls as JSON text.
	textArguments bool
}

// Limits on what the template of an untrusted file can spend.
const (
	maxTemplate = 1 << 16          // bytes; the longest ones in use have about 20 kB
	maxPrompt   = 1 << 26          // bytes that a template may write
	maxRange    = 1 << 16          // numbers in one range()
	maxDepth    = 100              // nested macro calls
	renderTime  = 10 * time.Second // for one prompt
)

// templateName is how the only file of the loader is called.
const templateName = "/tokenizer.chat_template"

func newJinja(template string, h Hints) (Renderer, error) {
	if len(template) > maxTemplate {
		return nil, fmt.Errorf("tokenizer.chat_template has %d bytes, at most %d are supported", len(template), maxTemplate)
	}
	j := &jinja{source: template, hints: h, textArguments: joined.MatchString(template)}
	err := limited(func() error { return j.parse() })
	if err != nil {
		return nil, fmt.Errorf("tokenizer.chat_template is not supported: %w", withoutSource(err, template))
	}
	return j, nil
}

func (j *jinja) parse() error {
	conf := config.New()
	conf.TrimBlocks, conf.LeftStripBlocks = true, true
	source, list := lex(j.source, conf)
	if err := checkNesting(list); err != nil {
		return err
	}
	source, list = lex(joinLines(source, list), conf)
	source, list = lex(rewriteConditionals(source, list), conf)
	if err := checkNesting(list); err != nil {
		return err
	}
	loader, err := loaders.NewMemoryLoader(map[string]string{templateName: rewriteSubscripts(source, list)})
	if err != nil {
		return err
	}
	j.template, err = exec.NewTemplate(templateName, conf, loader, environment())
	return err
}

func (*jinja) Name() string { return "jinja" }

// turnEnds are tokens by which templates end a turn.
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
	out := &prompt{deadline: time.Now().Add(renderTime)}
	vars, err := j.variables(messages, opts)
	if err != nil {
		return "", err
	}
	data := exec.NewContext(vars)
	if err := limited(func() error { return j.template.Execute(out, data) }); err != nil {
		return "", fmt.Errorf("tokenizer.chat_template: %w", withoutSource(err, j.source))
	}
	return out.text.String(), nil
}

// variables are what the template sees.
func (j *jinja) variables(messages []Message, opts Options) (map[string]any, error) {
	args := texts{}
	list := make([]any, len(messages))
	for i, m := range messages {
		var err error
		if list[i], err = j.message(m, args); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	vars := map[string]any{
		"messages":              list,
		"add_generation_prompt": opts.AddGenerationPrompt,
		"bos_token":             j.hints.BOS,
		"eos_token":             j.hints.EOS,
		"tools":                 nil,
		"documents":             nil,
		depthKey:                new(atomic.Int32),
		textsKey:                args,
	}
	if len(opts.Tools) > 0 {
		tools := make([]any, len(opts.Tools))
		for i, text := range opts.Tools {
			var err error
			if tools[i], err = value(text); err != nil {
				return nil, fmt.Errorf("tool %d: %w", i, err)
			}
		}
		vars["tools"] = tools
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
func (j *jinja) message(m Message, args texts) (*exec.Dict, error) {
	var content any = m.Content
	if list, ok := thoughtContent(j.source, m); ok {
		content, m.Reasoning = list, ""
	}
	out := dict("role", m.Role, "content", content)
	add := func(key string, x any) {
		out.Pairs = append(out.Pairs, &exec.Pair{Key: exec.AsValue(key), Value: exec.AsValue(x)})
	}
	if m.Reasoning != "" {
		add("reasoning_content", m.Reasoning)
	}
	if m.ToolCallID != "" {
		add("tool_call_id", m.ToolCallID)
	}
	if m.Name != "" {
		add("name", m.Name)
	}
	if len(m.ToolCalls) == 0 {
		return out, nil
	}
	calls := make([]any, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		arguments, err := j.arguments(c, args)
		if err != nil {
			return nil, err
		}
		calls[i] = dict("id", c.ID, "type", "function", "function", dict("name", c.Name, "arguments", arguments))
	}
	add("tool_calls", calls)
	return out, nil
}

// arguments are an object, unless the template joins them to other text. Where it takes
// both, only broken ones are a text.
func (j *jinja) arguments(c ToolCall, args texts) (any, error) {
	whole := object(c.Arguments)
	if j.textArguments || whole != c.Arguments && textual.MatchString(j.source) {
		return c.Arguments, nil
	}
	c.Arguments = whole
	x, err := value(json.RawMessage(c.Arguments))
	object, ok := x.(*exec.Dict)
	if err != nil || !ok {
		return nil, fmt.Errorf("the arguments of %s: %w", c.Name, errors.Join(err, errors.New("expected a JSON object")))
	}
	args[object] = c.Arguments
	return object, nil
}

// joined finds templates that add a call's arguments to a text: those of DeepSeek.
var joined = regexp.MustCompile(`\+\s*[\w.\[\]'"]*arguments['"\]]*\s*[-+}]|arguments['"\]]*\s*\+`)

// Template implements Renderer.
func (j *jinja) Template() string { return j.source }

// prompt collects the output of a template within its limits.
type prompt struct {
	text     bytes.Buffer
	deadline time.Time
}

func (p *prompt) Write(b []byte) (int, error) {
	if p.text.Len()+len(b) > maxPrompt {
		return 0, fmt.Errorf("the prompt is longer than %d bytes", maxPrompt)
	}
	if time.Now().After(p.deadline) {
		return 0, errTime
	}
	return p.text.Write(b)
}

// limited calls the engine, turning a panic into an error. The engine cannot be
// interrupted: what is not done in time stays behind in its goroutine.
func limited(call func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the template engine failed: %v", p)
			}
		}()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(renderTime):
		return errTime
	}
}

var errTime = fmt.Errorf("not done after %v", renderTime)

// withoutSource shortens the engine's messages, which quote the whole template.
func withoutSource(err error, source string) error {
	text := strings.ReplaceAll(err.Error(), source, "…")
	return errors.New(text)
}
