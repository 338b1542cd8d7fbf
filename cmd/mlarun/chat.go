package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mla/runtime/chat"
	"mla/runtime/engine"
	"mla/runtime/tokenizer"
)

// conversation is a chat with the model. Every answer is generated from the
// whole conversation as its template writes it; what has not changed since the
// last answer is on the session's timeline already.
type conversation struct {
	*loaded
	settings *settings
	tok      *tokenizer.Tokenizer
	renderer chat.Renderer
	messages []chat.Message
	thinking *bool
}

func newConversation(s *settings, m *loaded) (*conversation, error) {
	t, err := m.engine.Tokenizer()
	if err != nil {
		return nil, err
	}
	r, err := chat.For(t.ChatTemplate(), chat.Hints{Name: m.engine.Bundle().Model.ChatTemplate,
		BOS: t.TokenText(t.BOS()), EOS: t.TokenText(t.EOS())})
	if err == nil {
		// A model without a chat format should say so before the user types.
		_, err = r.Render([]chat.Message{{Role: chat.User, Content: "?"}}, chat.Options{AddGenerationPrompt: true})
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n-p TEXT, without -chat and -sys, continues a text as it is", err)
	}
	c := &conversation{loaded: m, settings: s, tok: t, renderer: r, thinking: s.thinking()}
	c.clear()
	return c, nil
}

// clear forgets everything but the system message.
func (c *conversation) clear() {
	c.messages = nil
	if s := c.settings.system; s != "" {
		c.messages = []chat.Message{{Role: chat.System, Content: s}}
	}
}

// answer writes the model's answer to the last message and appends it to the
// conversation, however it ended.
func (c *conversation) answer(ctx context.Context) (engine.Result, string, error) {
	tokens, stop, err := c.prompt()
	if err != nil {
		return engine.Result{}, "", err
	}
	res, text, err := c.settings.write(ctx, c.loaded, c.tok, tokens, stop)
	c.messages = append(c.messages, chat.Message{Role: chat.Assistant, Content: text})
	return res, text, err
}

// prompt is the conversation's tokens as its template writes it, and what ends an answer.
func (c *conversation) prompt() (tokens []int32, stop func(int32) bool, err error) {
	prompt, err := c.renderer.Render(c.messages, chat.Options{AddGenerationPrompt: true, Thinking: c.thinking})
	if err != nil {
		return nil, nil, err
	}
	var stops []int32
	for _, text := range c.renderer.Stops() {
		if id, ok := c.tok.TokenID(text); ok {
			stops = append(stops, id)
		}
	}
	tokens = c.tok.Encode(prompt, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true})
	return tokens, func(id int32) bool { return c.tok.IsEOG(id) || slices.Contains(stops, id) }, nil
}

const replHelp = `/help          this list
/clear         start a new conversation
/think [on|off] switch the model's thinking, if its template can
/quit          leave; so does Ctrl-D
Ctrl-C stops an answer.
`

// repl talks until the input ends; first, if not empty, is the first message.
func (c *conversation) repl(first string) error {
	e := c.settings.env
	lines := newLines(e)
	if _, ok := terminal(e.in); ok {
		c.settings.note("%s\n", "Chat with the model; /help lists the commands.")
	}
	for line := first; ; {
		if line = strings.TrimSpace(line); line != "" {
			quit, err := c.turn(line)
			if quit || err != nil {
				return err
			}
		}
		var err error
		line, err = lines.read()
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// turn obeys a command or answers a message.
func (c *conversation) turn(line string) (quit bool, err error) {
	if strings.HasPrefix(line, "/") {
		return c.command(strings.Fields(line)), nil
	}
	before := len(c.messages)
	c.messages = append(c.messages, chat.Message{Role: chat.User, Content: line})
	ctx, stop := interruptible()
	defer stop()
	res, _, err := c.answer(ctx)
	var full *engine.ContextError
	switch {
	case errors.Is(err, context.Canceled):
		err = nil // the answer stays as far as it went
	case errors.As(err, &full):
		c.messages = c.messages[:before]
		fmt.Fprintf(c.settings.env.err, "%v; /clear starts a new conversation\n", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.settings.endTurn(res)
	return false, nil
}

// endTurn ends an answer's last line and says why it is cut, if it is.
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
		s.note("prompt %d tokens%s (%d reused) · first token %s · generated %d%s\n", res.Prompt.Tokens, perSecond(res.Prompt),
			res.Reused, seconds(res.FirstToken), len(res.Tokens), perSecond(res.Decode))
	}
}

// command obeys a line that begins with a slash.
func (c *conversation) command(words []string) (quit bool) {
	w := c.settings.env.err
	switch words[0] {
	case "/quit", "/exit":
		return true
	case "/help":
		fmt.Fprint(w, replHelp)
	case "/clear":
		c.clear()
		fmt.Fprintln(w, "New conversation.")
	case "/think":
		c.switchThinking(words[1:])
	default:
		fmt.Fprintf(w, "Unknown command %s; /help lists them.\n", words[0])
	}
	return false
}

// switchThinking obeys /think. A template's default is to think.
func (c *conversation) switchThinking(words []string) {
	on := c.thinking != nil && !*c.thinking
	if len(words) > 0 {
		if on = words[0] == "on"; !on && words[0] != "off" {
			fmt.Fprintln(c.settings.env.err, "/think takes on or off.")
			return
		}
	}
	c.thinking = &on
	fmt.Fprintf(c.settings.env.err, "Thinking is %s.\n", map[bool]string{true: "on", false: "off"}[on])
}
