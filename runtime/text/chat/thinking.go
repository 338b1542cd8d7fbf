package chat

import (
	engine "mla/runtime/text/chat/jinja"
	"regexp"
	"strings"
)

// ThoughtMarks is the texts around a model's thoughts, by its template. Mistral's models have markers of
// their own.
func ThoughtMarks(template string) [2]string {
	if strings.Contains(template, "[THINK]") {
		return [2]string{"[THINK]", "[/THINK]"}
	}
	return [2]string{"<think>", "</think>"}
}

// thinks says whether the model is asked to think; nil: the template decides.
func (o *Options) thinks() *bool {
	if o.Thinking == nil && o.Effort != "" {
		on := o.Effort != noEffort
		return &on
	}
	return o.Thinking
}

// noEffort is the effort that switches thinking off.
const noEffort = "none"

// effortless matches templates that support the effort "none", as Mistral-Small-4's does. Others would print
// the word in the prompt.
var effortless = regexp.MustCompile(`['"]none['"]`)

// switches is the variables with which templates switch thinking. Each template has its own, and ignores the
// others.
func (o *Options) switches(template string) map[string]any {
	vars := map[string]any{}
	on := o.thinks()
	if on != nil {
		vars["enable_thinking"], vars["thinking"] = *on, *on // the second is DeepSeek-V3.1's
	}
	if o.KeepThinking {
		vars["clear_thinking"] = false
	}
	known := effortless.MatchString(template)
	switch {
	case on != nil && !*on:
		if known {
			vars["reasoning_effort"] = noEffort
		}
	case o.Effort != "" && o.Effort != noEffort:
		vars["reasoning_effort"] = o.Effort
	case on != nil && known:
		vars["reasoning_effort"] = mostEffort
	}
	return vars
}

// mostEffort is the effort that every template with efforts supports.
const mostEffort = "high"

// harder is the options with an effort that the template supports, after a rendering with another one has
// failed: some templates support only "none" and "high".
func (o Options) harder(template string) (Options, bool) {
	if !strings.Contains(template, "reasoning_effort") || o.Effort == "" || o.Effort == noEffort || o.Effort == mostEffort {
		return o, false
	}
	o.Effort = mostEffort
	return o, true
}

// reserved is variables of templates that come from the conversation, not from a request's options.
var reserved = map[string]bool{
	"messages": true, "tools": true, "documents": true, "add_generation_prompt": true, "bos_token": true, "eos_token": true,
}

// given is the variables that a request sets by name. JSON's null is jinja2's none.
func (o *Options) given() (map[string]any, error) {
	vars := map[string]any{}
	for name, text := range o.Variables {
		if reserved[name] {
			continue
		}
		x, err := engine.FromJSON(text, false)
		if err != nil {
			return nil, err
		}
		vars[name] = x
	}
	return vars, nil
}

// thoughtParts matches templates that want thoughts as parts of a message's content.
var thoughtParts = regexp.MustCompile(`['"]thinking['"]`)

// thoughtContent is the content of a message with thoughts as a list, for templates that want one, such as
// Mistral's.
func thoughtContent(template string, m Message) (any, bool) {
	if m.Reasoning == "" || !strings.Contains(template, "[THINK]") || !thoughtParts.MatchString(template) {
		return nil, false
	}
	list := []any{engine.NewDict("type", "thinking", "thinking", m.Reasoning)}
	if m.Content != "" {
		list = append(list, engine.NewDict("type", "text", "text", m.Content))
	}
	return engine.NewList(list...), true
}

// textual matches templates that also accept a call's arguments as a text.
var textual = regexp.MustCompile(`arguments['"\])]*\s+is\s+(not\s+)?string`)

// object is the arguments of a call as a JSON object. Malformed arguments, which a model has written and a
// client has kept, become the only member of an object, so that the conversation can continue.
func object(arguments string) string {
	x, err := engine.FromJSON([]byte(arguments), true)
	if _, ok := x.(*engine.Dict); ok && err == nil {
		return arguments
	}
	text, _ := engine.ToJSON(arguments) // a text can always be encoded
	return `{"arguments": ` + text + "}"
}
