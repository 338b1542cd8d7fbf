package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/engine"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/tokenizer"
)

// conversation is a chat with the model. Every answer is generated from the whole conversation in the form of
// its template. The part that has not changed since the last answer is already on the session's timeline.
type conversation struct {
	*loaded
	settings *settings
	tok      *tokenizer.Tokenizer
	renderer chat.Renderer
	messages []chat.Message
	attached string        // text to put before the next message
	last     engine.Result // the last answer's result
}

func newConversation(s *settings, m *loaded) (*conversation, error) {
	t, err := m.engine.Tokenizer()
	if err != nil {
		return nil, err
	}
	r, err := chatFormat(m.engine, t, s.template)
	if err == nil {
		// A model without a chat format should fail before the user types.
		err = hasFormat(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n-raw continues a text as it is; -chat-template FILE gives it a format", err)
	}
	c := &conversation{loaded: m, settings: s, tok: t, renderer: r}
	c.clear()
	return c, nil
}

// hasFormat fails for a model without a chat format.
func hasFormat(r chat.Renderer) error {
	_, err := r.Render([]chat.Message{{Role: chat.User, Content: "?"}}, chat.Options{AddGenerationPrompt: true})
	return err
}

// clear forgets everything but the system message.
func (c *conversation) clear() {
	c.messages = nil
	if s := c.settings.system; s != "" {
		c.messages = []chat.Message{{Role: chat.System, Content: s}}
	}
}

// templateError is the error for a conversation that the template cannot turn into a prompt.
type templateError struct{ error }

func (e *templateError) Unwrap() error { return e.error }

// answer generates the model's answer to the last message. It appends the answer to the conversation, however
// the generation ended.
func (c *conversation) answer(ctx context.Context) (engine.Result, error) {
	what, err := c.prompt()
	if err != nil {
		return engine.Result{}, &templateError{err}
	}
	res, out, err := c.settings.write(ctx, c.loaded, c.tok, what, c.settings.newScreen())
	if out == nil {
		return res, err
	}
	c.messages = append(c.messages, chat.Message{Role: chat.Assistant, Content: out.Text(), Reasoning: out.Thoughts()})
	c.last = res
	return res, err
}

// prompt returns the conversation's tokens in the form of its template, the ends of an answer, and the parser
// of the answer.
func (c *conversation) prompt() (*turn.Turn, error) {
	return turn.New(c.tok, c.renderer, c.messages, chat.Options{Thinking: c.settings.thinks.on})
}

// turn answers a message. It returns an error only if the chat must end.
func (c *conversation) turn(message string) error {
	before := slices.Clone(c.messages)
	c.messages = append(c.messages, chat.Message{Role: chat.User, Content: c.attached + message})
	c.attached = ""
	return c.reply(before)
}

// reply answers the last message. Without an answer, it restores the conversation to before.
func (c *conversation) reply(before []chat.Message) error {
	ctx, stop := interruptible()
	defer stop()
	res, err := c.answer(ctx)
	var full *engine.ContextError
	var template *templateError
	switch {
	case errors.Is(err, context.Canceled):
		if last := c.messages[len(c.messages)-1]; last.Content == "" && last.Reasoning == "" {
			c.messages = before
			fmt.Fprintln(c.settings.env.err, "(stopped before the answer began; the conversation is what it was before)")
			return nil
		}
		err = nil // keep the partial answer
	case errors.As(err, &template):
		c.messages = before
		fmt.Fprintf(c.settings.env.err, "%v\n", err)
		return nil
	case errors.As(err, &full):
		c.messages = before
		fmt.Fprintf(c.settings.env.err, "%v; /clear starts a new conversation\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	c.settings.endTurn(res)
	return nil
}

// endTurn ends the last line of an answer, and says why the answer was cut if it was.
func (s *settings) endTurn(res engine.Result) {
	fmt.Fprintln(s.env.out)
	switch res.Reason {
	case engine.ReasonContext:
		s.note("(the context is full; /clear starts a new conversation)\n")
	case engine.ReasonLength:
		s.note("(cut after -n %d tokens)\n", s.max)
	case engine.ReasonCancel:
		s.note("(stopped)\n")
	}
	if s.verbose {
		s.note("%s\n", strings.Join(s.timings(res), " · "))
	}
}
