// Package chat renders a conversation as the prompt text that a model was trained on.
//
// The template of a model file runs in package jinja, with the conventions of Hugging Face's
// apply_chat_template. A format that is only named has its template here. There is no default format: what
// cannot be rendered as the template's author meant is an error.
//
// A rendered prompt contains control tokens as text, so it has to be encoded with special tokens parsed. With
// Hints.Escape, only the system message can contain one.
package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Roles of a Message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content string
	// Reasoning is what an assistant thought before Content. "": unknown; then templates may look for it
	// between <think> and </think> in Content.
	Reasoning string
	// Reasoned says that Reasoning is all of the thoughts, even if it is "".
	Reasoned bool
	// ToolCalls are the calls of an assistant after Content.
	ToolCalls []ToolCall
	// ToolCallID is the id of the call that a tool's Content answers, Name the tool.
	ToolCallID, Name string
}

// Options is the options of a rendering.
type Options struct {
	// AddGenerationPrompt ends the prompt with the beginning of an assistant's
	// turn.
	AddGenerationPrompt bool
	// Thinking switches a reasoning model's thinking on or off. nil: Effort decides, and then the template. A
	// template without such a switch ignores it.
	Thinking *bool
	// Effort is how much a model is to think, one of the values of OpenAI's reasoning_effort; "none" switches
	// thinking off, every other one on. "" leaves it to the template.
	Effort string
	// KeepThinking renders the reasoning of all turns, not only of those since the user's last message, if
	// the template has clear_thinking.
	KeepThinking bool
	// Tools are the tools that the model may call, each as {"type": "function", "function": …}.
	Tools []json.RawMessage
	// Variables are JSON values that a Jinja template sees by these names. They take precedence over its
	// other variables.
	Variables map[string]json.RawMessage
}

// Renderer renders conversations in one model's format.
type Renderer interface {
	// Name is one of Names, or "jinja".
	Name() string
	// Render returns the prompt text.
	Render(messages []Message, opts Options) (string, error)
	// Stops returns the texts of tokens that end an assistant's turn.
	Stops() []string
	// Template is the text from which the model's format of tool calls is recognised; "": it makes no calls.
	Template() string
}

// Hints is what For knows beside the template.
type Hints struct {
	// Name is the format that the model's spec or the user names, one of Names; "": it follows from the
	// template.
	Name string
	// BOS and EOS are the texts of the tokens that begin and end a text.
	BOS, EOS string
	// Escape is the tokenizer's: it writes text so that it contains no control tokens. The prompt then has to
	// be encoded as escaped text. nil: quoted text can end its turn and begin another one.
	Escape func(string) string
}

// formats has the constructors of the formats that a spec can name.
var formats = map[string]func(template string, h Hints) (Renderer, error){
	"glm4":        newGLM,
	"deepseek-v2": func(_ string, h Hints) (Renderer, error) { return newDeepSeek(h), nil },
	"youtu":       newYoutu,
	"none":        func(string, Hints) (Renderer, error) { return none{}, nil },
}

// knownTemplates maps the fingerprint of a template to its format.
var knownTemplates = map[string]string{
	"d63ad536c3c81880043e22ec7fd08db42b4d8fb7c89c7138bc562bfa25281375": "glm4",        // GLM-4.7-Flash
	"5b0c475e85b3954175a606f8e7540ec0c6a16edb516e2b8cd0c000dff7b1ad65": "deepseek-v2", // DeepSeek-V2-Chat, -Lite-Chat
}

// fingerprint is the SHA-256 of a template, without surrounding white space and independent of how line
// breaks in string literals are written.
func fingerprint(template string) string {
	template = strings.ReplaceAll(strings.TrimSpace(template), "\n\n'", `\n\n'`)
	sum := sha256.Sum256([]byte(template))
	return hex.EncodeToString(sum[:])
}

// Names lists the formats that Hints can name.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// For returns the renderer for a model with the chat template of its file ("": none). The template takes
// precedence over the name, which is used only without a template. Without either, or with the name "none",
// the model has no chat.
func For(template string, h Hints) (Renderer, error) {
	r, err := find(template, h)
	if err != nil || h.Escape == nil {
		return r, err
	}
	return escaping{r, h.Escape}, nil
}

func find(template string, h Hints) (Renderer, error) {
	format, known := formats[h.Name]
	if h.Name != "" && !known {
		return nil, fmt.Errorf("chat format %q is not known, expected one of %s", h.Name, strings.Join(Names(), ", "))
	}
	if strings.TrimSpace(template) != "" {
		if name, ok := knownTemplates[fingerprint(template)]; ok {
			return formats[name](template, h)
		}
		j, err := newJinja(template, h)
		if err != nil {
			return nil, err
		}
		return j, nil
	}
	if !known {
		return nil, fmt.Errorf("tokenizer.chat_template is missing, so the chat format has to be named: one of %s",
			strings.Join(Names(), ", "))
	}
	return format(template, h)
}

// newYoutu is called only for a model without a template. Youtu-LLM's template is known only from its files,
// so it fails.
func newYoutu(string, Hints) (Renderer, error) {
	return nil, fmt.Errorf("tokenizer.chat_template is missing: the format %q is defined by the template of the model file", "youtu")
}

// none is the renderer of models that were not trained on conversations.
type none struct{}

func (none) Name() string     { return "none" }
func (none) Stops() []string  { return nil }
func (none) Template() string { return "" }

func (none) Render([]Message, Options) (string, error) {
	return "", fmt.Errorf("this model has no chat format: give it plain text to continue")
}

// noTools is the error for tools in a format that does not support them.
func noTools(format string) error {
	return fmt.Errorf("chat format %s has no tools", format)
}

// badRole is the error for a role that a format does not support.
func badRole(format string, i int, role string, known ...string) error {
	return fmt.Errorf("chat format %s: message %d has role %q, expected one of %s",
		format, i, role, strings.Join(known, ", "))
}
