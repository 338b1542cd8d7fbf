package mla

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/turn"
)

// Message is one turn of a conversation.
type Message = chat.Message

// ToolCall is a call of a tool that an answer ends with. Arguments is a JSON object.
type ToolCall = chat.ToolCall

// The roles of a Message. A ToolResult names its call by ToolCallID and its tool by Name.
const (
	System     = chat.System
	User       = chat.User
	Assistant  = chat.Assistant
	ToolResult = chat.Tool
)

// Tool is a function of the program that the model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object
}

// ChatOptions are what a conversation has beside its messages.
type ChatOptions struct {
	// Thinking switches a reasoning model's thinking on or off; nil leaves it to the
	// template.
	Thinking *bool
	// Tools are what the model may call. The program runs them: see [Chat.Answer].
	Tools []Tool
}

// options are those of a rendering. Tools have been checked.
func (o *ChatOptions) options() chat.Options {
	out := chat.Options{Thinking: o.Thinking}
	for _, t := range o.Tools {
		text, err := json.Marshal(map[string]any{"type": "function", "function": t})
		if err == nil {
			out.Tools = append(out.Tools, text)
		}
	}
	return out
}

// check looks at the tools.
func (o *ChatOptions) check() error {
	for _, t := range o.Tools {
		var parameters map[string]any
		if t.Name == "" {
			return errors.New("a tool without a name")
		}
		if err := json.Unmarshal(t.Parameters, &parameters); err != nil {
			return fmt.Errorf("tool %s: its parameters are no JSON object: %w", t.Name, err)
		}
	}
	return nil
}

// Chat is a conversation with a model, in a session of its own. Every answer follows from
// the whole conversation as the model's template writes it; what has not changed since the
// last answer is not run again.
type Chat struct {
	// Messages are the conversation so far, which may be changed between answers.
	Messages []Message
	ChatOptions

	session  *Session
	renderer chat.Renderer
}

// renderer writes conversations in the model's chat template.
func (m *Model) renderer() (chat.Renderer, error) {
	t := m.tokenizer
	hints := chat.Hints{Name: m.engine.Bundle().Model.ChatTemplate, BOS: t.TokenText(t.BOS()), EOS: t.TokenText(t.EOS()), Escape: t.Escape}
	if m.chatTemplate != "" {
		hints.Name = ""
	}
	r, err := chat.For(cmp.Or(m.chatTemplate, t.ChatTemplate()), hints)
	if err != nil {
		return nil, err
	}
	// An error now, rather than once there is a question.
	_, err = r.Render([]Message{{Role: User, Content: "?"}}, chat.Options{AddGenerationPrompt: true})
	return r, err
}

// NewChat begins a conversation; system, if not empty, is its system message. A model without
// a chat template is an error: [Options].ChatTemplate gives it one.
func (m *Model) NewChat(system string) (*Chat, error) {
	r, err := m.renderer()
	if err != nil {
		return nil, err
	}
	c := &Chat{renderer: r}
	if system != "" {
		c.Messages = append(c.Messages, Message{Role: System, Content: system})
	}
	if c.session, err = m.NewSession(); err != nil {
		return nil, err
	}
	return c, nil
}

// Send adds a message of the user, and yields the answer while it comes, without the model's
// thoughts. Message and answer, as far as that came, are part of the conversation then; a
// message whose answer has not begun is not.
func (c *Chat) Send(ctx context.Context, text string, g Generation) iter.Seq2[string, error] {
	return c.answer(ctx, Message{Role: User, Content: text}, g)
}

// Answer answers the messages as they are. Where the last answer has calls, the program runs them,
// appends a message of role ToolResult for each, and asks for the answer.
func (c *Chat) Answer(ctx context.Context, g Generation) iter.Seq2[string, error] {
	return c.answer(ctx, Message{}, g)
}

// answer answers the messages, and one that is added unless it is empty.
func (c *Chat) answer(ctx context.Context, added Message, g Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		messages := slices.Clone(c.Messages)
		if added.Role != "" {
			messages = append(messages, added)
		}
		err := c.check()
		var t *turn.Turn
		if err == nil {
			t, err = turn.New(c.session.model.tokenizer, c.renderer, messages, c.options())
		}
		if err != nil {
			yield("", err)
			return
		}
		for piece, err := range c.session.generate(ctx, t, g) {
			if !yield(piece, err) {
				break
			}
		}
		if last := c.Last(); len(last.Tokens) > 0 || last.Reason != Failed && last.Reason != Canceled {
			c.Messages = append(messages, Message{Role: Assistant, Content: last.Text, Reasoning: last.Thoughts, ToolCalls: last.Calls})
		}
	}
}

// Last is what the last answer took.
func (c *Chat) Last() Result { return c.session.Last() }

// Close ends the conversation's session.
func (c *Chat) Close() error { return c.session.Close() }
