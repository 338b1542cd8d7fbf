package mla

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"mla/runtime/text/chat"
	"mla/runtime/text/tokenizer"
)

// Message is one turn of a conversation.
type Message = chat.Message

// The roles of a Message.
const (
	System    = chat.System
	User      = chat.User
	Assistant = chat.Assistant
)

// Chat is a conversation with a model, in a session of its own. Every answer follows from
// the whole conversation as the model's template writes it; what has not changed since the
// last answer is not run again.
type Chat struct {
	// Messages are the conversation so far, which may be changed between answers.
	Messages []Message
	// Thinking switches a reasoning model's thinking on or off; nil leaves it to the
	// template. Thoughts are part of an answer's text as the model writes them.
	Thinking *bool

	session  *Session
	renderer chat.Renderer
}

// NewChat begins a conversation; system, if not empty, is its system message. A model without
// a chat template is an error: [Options].ChatTemplate gives it one.
func (m *Model) NewChat(system string) (*Chat, error) {
	t := m.tokenizer
	hints := chat.Hints{Name: m.engine.Bundle().Model.ChatTemplate, BOS: t.TokenText(t.BOS()), EOS: t.TokenText(t.EOS()), Escape: t.Escape}
	if m.chatTemplate != "" {
		hints.Name = ""
	}
	r, err := chat.For(cmp.Or(m.chatTemplate, t.ChatTemplate()), hints)
	if err != nil {
		return nil, err
	}
	c := &Chat{renderer: r}
	if system != "" {
		c.Messages = append(c.Messages, Message{Role: System, Content: system})
	}
	if _, err := r.Render([]Message{{Role: User, Content: "?"}}, chat.Options{AddGenerationPrompt: true}); err != nil {
		return nil, err // now, rather than once there is a question
	}
	if c.session, err = m.NewSession(); err != nil {
		return nil, err
	}
	return c, nil
}

// Send adds a message of the user, and yields the answer while it comes. Message and answer,
// as far as that came, are part of the conversation then; a message that cannot be answered
// at all is not.
func (c *Chat) Send(ctx context.Context, text string, g Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		messages := append(slices.Clone(c.Messages), Message{Role: User, Content: text})
		prompt, err := c.renderer.Render(messages, chat.Options{AddGenerationPrompt: true, Thinking: c.Thinking})
		if err != nil {
			yield("", err)
			return
		}
		tok := c.session.model.tokenizer
		tokens := tok.Encode(prompt, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true, Escaped: true})
		c.session.last = Result{}
		for piece, err := range c.session.generate(ctx, tokens, c.ends(), g) {
			if !yield(piece, err) {
				break
			}
		}
		if last := c.Last(); last.Reason != Failed || len(last.Tokens) > 0 {
			c.Messages = append(messages, Message{Role: Assistant, Content: last.Text})
		}
	}
}

// ends says which tokens end an answer.
func (c *Chat) ends() func(int32) bool {
	tok := c.session.model.tokenizer
	var stops []int32
	for _, text := range c.renderer.Stops() {
		if id, ok := tok.TokenID(text); ok {
			stops = append(stops, id)
		}
	}
	return func(id int32) bool { return tok.IsEOG(id) || slices.Contains(stops, id) }
}

// Last is what the last answer took.
func (c *Chat) Last() Result { return c.session.Last() }

// Close ends the conversation's session.
func (c *Chat) Close() error { return c.session.Close() }
