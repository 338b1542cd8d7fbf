// Package chat turns a conversation into the prompt text that a model was
// trained on.
//
// The template of a model file runs through package jinja under the conventions of
// Hugging Face's apply_chat_template. A format that is only named has its template here.
// What cannot be rendered as the template's author meant it is an error: there is no
// default format.
//
// A rendered prompt contains control tokens as text, so it has to be encoded
// with special tokens parsed. With Hints.Escape, no message but the system's can spell
// one.
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
	// Reasoning is what an assistant thought before Content; "" = not known,
	// then templates may find it between <think> and </think> in Content.
	Reasoning string
	// Reasoned says that Reasoning is all of the thoughts, even if it is "".
	Reasoned bool
	// ToolCalls are what an assistant wants called after Content.
	ToolCalls []ToolCall
	// ToolCallID says to which call a tool's Content is the answer, Name of which tool.
	ToolCallID, Name string
}

// Options of a rendering.
type Options struct {
	// AddGenerationPrompt ends the prompt with the beginning of an assistant's
	// turn.
	AddGenerationPrompt bool
	// Thinking switches a reasoning model's thinking on or off; nil leaves it to
	// Effort, and then to the template. A template that cannot switch is as it is.
	Thinking *bool
	// Effort is how much a model is to think, in the words of OpenAI's reasoning_effort;
	// "none" switches thinking off, every other one on. "" leaves it to the template.
	Effort string
	// KeepThinking has the reasoning of all turns, not only of those since the user
	// spoke last, where a template has clear_thinking.
	KeepThinking bool
	// Tools are what the model may call, each as {"type": "function", "function": …}.
	Tools []json.RawMessage
	// Variables are JSON values that a Jinja template sees by these names, beside the
	// others and before them.
	Variables map[string]json.RawMessage
}

// Renderer writes conversations in one model's format.
type Renderer interface {
	// Name is one of Names, or "jinja".
	Name() string
	// Render returns the prompt text.
	Render(messages []Message, opts Options) (string, error)
	// Stops returns the texts of tokens that end the assistant's turn.
	Stops() []string
	// Template is the text that says how the model writes calls of tools; "" = it
	// writes none.
	Template() string
}

// Hints are what For knows apart from the template.
type Hints struct {
	// Name is the format that the model's spec or the user names, one of Names;
	// "" = find out from the template.
	Name string
	// BOS and EOS are the texts of the tokens that begin and end a text.
	BOS, EOS string
	// Escape is the tokenizer's: it writes text so that it has no control tokens. A
	// prompt is encoded as escaped text then. nil: whoever is quoted can end his turn and
	// begin another's.
	Escape func(string) string
}

// formats makes the renderers of the names that a spec can give.
var formats = map[string]func(template string, h Hints) (Renderer, error){
	"glm4":        newGLM,
	"deepseek-v2": func(_ string, h Hints) (Renderer, error) { return newDeepSeek(h), nil },
	"youtu":       newYoutu,
	"none":        func(string, Hints) (Renderer, error) { return none{}, nil },
}

// knownTemplates maps the SHA-256 of a template's text, as fingerprint takes it,
// to its format.
var knownTemplates = map[string]string{
	"d63ad536c3c81880043e22ec7fd08db42b4d8fb7c89c7138bc562bfa25281375": "glm4",        // GLM-4.7-Flash
	"5b0c475e85b3954175a606f8e7540ec0c6a16edb516e2b8cd0c000dff7b1ad65": "deepseek-v2", // DeepSeek-V2-Chat, -Lite-Chat
}

// fingerprint identifies a template. White space around it and the spelling of
// line breaks inside string literals do not count.
func fingerprint(template string) string {
	template = strings.ReplaceAll(strings.TrimSpace(template), "\n\n'", `\n\n'`)
	sum := sha256.Sum256([]byte(template))
	return hex.EncodeToString(sum[:])
}

// Names lists the formats that Hints can name.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// For returns the renderer for a model whose file has the given chat template
// ("" = none). The file's template decides, because it is nearer to the weights than
// a name is; the name only helps when there is none. Without either, and by the name
// "none", the model has no chat.
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

// newYoutu is reached only without a template: the text of Youtu-LLM's is not
// known apart from its files.
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

// noTools is the error for tools in a format that has none.
func noTools(format string) error {
	return fmt.Errorf("chat format %s has no tools", format)
}

// badRole is the error for a role that a format does not have.
func badRole(format string, i int, role string, known ...string) error {
	return fmt.Errorf("chat format %s: message %d has role %q, expected one of %s",
		format, i, role, strings.Join(known, ", "))
}
