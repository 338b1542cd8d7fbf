package server

import (
	"encoding/json"
	"maps"
	"strings"

	"mla/runtime/text/chat"
)

// Reasoning is the default for how models think.
type Reasoning struct {
	On     *bool // nil: the chat template's default
	Budget *int  // most tokens of thoughts; nil: no limit
	// Variables are passed to the chat template.
	Variables map[string]json.RawMessage
}

// reasoning is a request's parameters of thoughts.
type reasoning struct {
	thinking  *bool  // nil: given by effort
	effort    string // OpenAI's parameter; "": the template's default
	keep      bool   // keep the thoughts of earlier turns
	budget    *int   // most tokens; -1: no limit
	variables map[string]json.RawMessage
}

// or fills in the server's defaults.
func (r *reasoning) or(d Reasoning) {
	if r.thinking == nil && r.effort == "" {
		r.thinking = d.On
	}
	if r.budget == nil {
		r.budget = d.Budget
	}
	if len(d.Variables) > 0 {
		variables := maps.Clone(d.Variables)
		maps.Copy(variables, r.variables)
		r.variables = variables
	}
}

// off says whether the request has switched thinking off.
func (r *reasoning) off() bool {
	return r.thinking != nil && !*r.thinking || r.thinking == nil && r.effort == "none"
}

// switches is the fields of a chat about thinking, with the names of OpenAI, llama-server, vLLM and Z.ai.
type switches struct {
	ReasoningEffort string      `json:"reasoning_effort"`
	ReasoningBudget *int        `json:"reasoning_budget_tokens"` // llama-server's name
	ThinkingBudget  *int        `json:"thinking_budget_tokens"`
	Budget          *int        `json:"reasoning_budget"`
	EnableThinking  *bool       `json:"enable_thinking"`
	ClearThinking   *bool       `json:"clear_thinking"`
	Thinking        zaiThinking `json:"thinking"`
	Template        variables   `json:"chat_template_kwargs"`
}

// variables are passed to the chat template by name.
type variables map[string]json.RawMessage

// maxVariables is the most of them; a template uses few.
const maxVariables = 256

// UnmarshalJSON implements json.Unmarshaler.
func (v *variables) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*map[string]json.RawMessage)(v))
	switch {
	case err != nil:
		return bad("chat_template_kwargs", "expected an object")
	case len(*v) > maxVariables:
		return bad("chat_template_kwargs", "more than %d names", maxVariables)
	}
	return nil
}

// zaiThinking is Z.ai's and Anthropic's field. Other clients send true or false in its place.
type zaiThinking struct {
	on     *bool
	clear  *bool
	budget *int
}

// UnmarshalJSON implements json.Unmarshaler.
func (z *zaiThinking) UnmarshalJSON(data []byte) error {
	*z = zaiThinking{}
	if json.Unmarshal(data, &z.on) == nil {
		return nil
	}
	var q struct {
		Type   string `json:"type"`
		Clear  *bool  `json:"clear_thinking"`
		Budget *int   `json:"budget_tokens"`
	}
	if json.Unmarshal(data, &q) != nil {
		return bad("thinking", `expected {"type": "enabled"} or {"type": "disabled"}`)
	}
	z.clear, z.budget = q.Clear, q.Budget
	on, err := thinkingType(q.Type)
	z.on = on
	return err
}

// thinkingType is the effect of a type of thinking; nil: none.
func thinkingType(word string) (*bool, error) {
	on := true
	switch word {
	case "":
		return nil, nil
	case "enabled", "adaptive", "auto":
		return &on, nil
	case "disabled":
		return new(bool), nil
	}
	return nil, bad("thinking.type", "%q; expected enabled, adaptive or disabled", clip(word, 50))
}

// reasoning combines the fields. A field closer to the template takes precedence.
func (q *switches) reasoning() reasoning {
	r := reasoning{effort: q.ReasoningEffort, variables: q.Template}
	named := func(name string) *bool {
		var value *bool
		_ = json.Unmarshal(q.Template[name], &value) // with another type it is only a variable of the template
		return value
	}
	for _, on := range []*bool{named("enable_thinking"), named("thinking"), q.EnableThinking, q.Thinking.on} {
		if r.thinking == nil {
			r.thinking = on
		}
	}
	for _, clear := range []*bool{named("clear_thinking"), q.ClearThinking, q.Thinking.clear} {
		r.keep = r.keep || isFalse(clear)
	}
	for _, budget := range []*int{q.ReasoningBudget, q.ThinkingBudget, q.Budget, q.Thinking.budget} {
		if r.budget == nil {
			r.budget = budget
		}
	}
	var effort string
	if json.Unmarshal(q.Template["reasoning_effort"], &effort) == nil && effort != "" {
		r.effort = effort
	}
	return r
}

// foldSystem merges all system messages into one at the beginning, as some templates support no other place.
func foldSystem(messages []chat.Message) []chat.Message {
	var first *chat.Message
	var texts []string
	var rest []chat.Message
	for i, m := range messages {
		if m.Role != chat.System {
			rest = append(rest, m)
			continue
		}
		if texts = append(texts, m.Content); first == nil {
			first = &messages[i]
		}
	}
	if first == nil {
		return messages
	}
	whole := *first
	whole.Content = strings.Join(texts, "\n\n")
	return append([]chat.Message{whole}, rest...)
}

// wantsSystemFirst says whether a template does not support a system message within a conversation: it fails,
// or drops the message.
func wantsSystemFirst(r chat.Renderer) bool {
	const sign = "probe of this template"
	start := []chat.Message{{Role: chat.System, Content: "x"}, {Role: chat.User, Content: "x"}, {Role: chat.Assistant, Content: "x"}, {Role: chat.User, Content: "x"}}
	if _, err := r.Render(start, chat.Options{AddGenerationPrompt: true}); err != nil {
		return false // the template supports none at all, or fails otherwise
	}
	return !shows(r, append(start, chat.Message{Role: chat.System, Content: sign}), chat.Options{AddGenerationPrompt: true}, sign)
}
