package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/tokenizer"
)

// conversation is a conversation to continue, from any API.
type conversation struct {
	messages []chat.Message
	// list is the parameter that errors name where message numbers differ from those of the client's list;
	// "": they are those of messages.
	list    string
	unread  map[int]string    // by message: the type of a part that is not text
	tools   []json.RawMessage // in OpenAI's format
	skipped []string          // types of tools that are left out
	choice  toolChoice
	oneCall bool // at most one call in an answer
	reasoning
	whole   bool    // the assistant's last message is complete: the answer does not continue it
	bare    bool    // the prompt does not begin the assistant's turn
	grammar *wanted // grammar of the answer's text; nil: none
}

// add adds a message with its content.
func (c *conversation) add(m chat.Message, content parts) {
	m.Content += content.text
	m.Reasoning += content.thoughts
	c.messages = append(c.messages, m)
	if content.unread != "" {
		if c.unread == nil {
			c.unread = map[int]string{}
		}
		c.unread[len(c.messages)-1] = content.unread
	}
}

// readable fails if the user's last turn has a part that the model cannot read. For earlier turns and results
// of tools, the model is told that there was such a part: otherwise a client that keeps its history could
// never continue.
func (c *conversation) readable() error {
	for i := len(c.messages) - 1; i >= 0 && c.messages[i].Role != chat.Assistant; i-- {
		if kind := c.unread[i]; kind != "" && c.messages[i].Role == chat.User {
			param := c.list
			set(&param, fmt.Sprintf("messages[%d].content", i))
			return bad(param, "a part of type %q; the model reads only text", clip(kind, 50))
		}
	}
	return nil
}

// Limits on a conversation, in addition to that on the body.
const (
	maxTools = 512
	maxName  = 128 // bytes of a tool's name
)

// rendered is a conversation in the model's format.
type rendered struct {
	text     string // as the renderer escapes it
	opening  string // the beginning of the answer, at the end of text
	thinking bool   // the answer begins within thoughts
}

// roles maps OpenAI's roles to those of templates.
var roles = map[string]string{"system": chat.System, "developer": chat.System, "user": chat.User, "assistant": chat.Assistant, "tool": chat.Tool, "function": chat.Tool}

// readRole converts a role to a template's.
func readRole(param, role string) (string, error) {
	if known := roles[role]; known != "" {
		return known, nil
	}
	return "", bad(param, "%q; expected one of %s", clip(role, 50), strings.Join(slices.Sorted(maps.Keys(roles)), ", "))
}

// render renders a conversation with the model's template.
func (s *Server) render(c *conversation) (*rendered, error) {
	if len(c.messages) == 0 {
		return nil, bad("messages", "there is none")
	}
	if err := c.readable(); err != nil {
		return nil, err
	}
	if err := s.showTools(c); err != nil {
		return nil, err
	}
	c.reasoning.or(s.cfg.Reasoning)
	opts := chat.Options{AddGenerationPrompt: !c.bare, Thinking: c.thinking, Effort: c.effort, KeepThinking: c.keep, Variables: c.variables}
	if !c.choice.none {
		opts.Tools = c.tools
	}
	if c.choice.must && c.bare {
		return nil, bad("add_generation_prompt", "false; a call that is asked for begins the assistant's turn")
	}
	if c.choice.must && c.thinking == nil { // a call must come first
		off := false
		opts.Thinking = &off
	}
	messages := s.recall(c)
	if s.systemFirst {
		messages = foldSystem(messages)
	}
	if last := &messages[len(messages)-1]; last.Role == chat.Assistant && len(last.ToolCalls) == 0 && !c.whole && !c.bare {
		if last.Content != "" || last.Reasoning != "" {
			return s.goOn(messages, opts, c)
		}
		if messages = messages[:len(messages)-1]; len(messages) == 0 { // nothing is left to be continued
			return nil, bad("messages", "there is but an empty one")
		}
	}
	text, err := s.cfg.Chat.Render(messages, opts)
	late := func(m chat.Message) bool { return m.Role == chat.System }
	if err != nil && slices.ContainsFunc(messages[1:], late) { // some templates accept no later system message
		if folded, otherErr := s.cfg.Chat.Render(foldSystem(messages), opts); otherErr == nil {
			text, err = folded, nil
		}
	}
	if err != nil {
		return nil, bad("messages", "%v", err)
	}
	r := &rendered{text: text, thinking: strings.HasSuffix(strings.TrimRight(text, "\n"), s.think[0])}
	if c.choice.must {
		r.opening = s.format.Opening(c.choice.name, c.calls())
		if r.thinking {
			r.text = strings.TrimRight(r.text, "\n") + "\n" + s.think[1] + "\n\n"
			r.thinking = false
		}
		r.text += r.opening
	}
	return r, nil
}

// goOn renders a conversation whose last message is the beginning of the answer, or of the thoughts before
// it. The text ends where that beginning ends in the template's output.
func (s *Server) goOn(messages []chat.Message, opts chat.Options, c *conversation) (*rendered, error) {
	const instead = `; with "continue_final_message": false the last message is a turn of its own`
	switch {
	case c.choice.must:
		return nil, bad("tool_choice", "the last message, of the assistant, begins the answer, so that is no call%s", instead)
	case c.grammar != nil:
		return nil, bad("messages", "the last one, of the assistant, begins the answer; one in a form cannot be begun%s", instead)
	}
	messages = slices.Clone(messages)
	last := &messages[len(messages)-1]
	if text, ok := strings.CutPrefix(last.Content, s.think[0]); ok && !strings.Contains(text, s.think[1]) {
		last.Content, last.Reasoning = "", text
	}
	thinking := last.Content == ""
	end := "\ufdd3" + rand.Text() // a text that cannot occur, and that no template trims
	if thinking {
		last.Reasoning += end
	} else {
		last.Content += end
	}
	opts.AddGenerationPrompt = false
	text, err := s.cfg.Chat.Render(messages, opts)
	if err != nil {
		return nil, bad("messages", "%v", err)
	}
	text, _, found := strings.Cut(text, end)
	if !found {
		return nil, bad("messages", "the model's chat template does not show the last one, of the assistant, which begins the answer%s", instead)
	}
	return &rendered{text: text, thinking: thinking}, nil
}

// encode tokenises it.
func (s *Server) encode(r *rendered) ([]int32, error) {
	return s.tokens(r.text, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true, Escaped: true})
}

// chatJob is the job that answers a conversation.
func (s *Server) chatJob(ctx context.Context, c *conversation) (*job, error) {
	r, err := s.render(c)
	if err != nil {
		return nil, err
	}
	config := output.Config{Thinking: r.thinking, Think: s.think}
	if len(c.tools) > 0 && !c.choice.none {
		config.Format, config.Tools = s.format, c.callable()
	}
	budget := -1
	if c.budget != nil {
		if budget = *c.budget; budget < -1 {
			return nil, bad("budget", "%d; expected 0 or more, or -1 for any number", budget)
		}
	}
	if len(c.skipped) > 0 {
		slices.Sort(c.skipped)
		s.cfg.Log.Info("tools that only their own service can run are left out", "types", strings.Join(slices.Compact(c.skipped), ", "))
	}
	rules, err := s.rules(ctx, c)
	if err != nil {
		return nil, err
	}
	prompt, err := s.encode(r)
	if err != nil {
		return nil, err
	}
	j := &job{
		Request: asked(func(id int32) bool { return s.tok.IsEOG(id) || s.stops[id] && !(config.Format != nil && s.turns[id]) }),
		rules:   rules, budget: budget, unthink: s.tok.Encode(s.think[1], tokenizer.EncodeOptions{ParseSpecial: true}),
		prompts: [][]int32{prompt}, n: 1, opening: r.opening, oneCall: c.oneCall,
		parser: func() *output.Parser { return output.New(config) },
		names:  s.callNames(c), past: c.past(len(c.messages)),
	}
	j.Visible = s.visible
	return j, nil
}

// declare checks the declaration of a tool, {"name": …}, and returns it in OpenAI's format.
func declare(param, name, description string, strict bool, parameters json.RawMessage) (json.RawMessage, error) {
	if err := checkName(param, name); err != nil {
		return nil, err
	}
	function := struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		Strict      bool            `json:"strict,omitempty"`
	}{name, description, parameters, strict}
	return json.Marshal(map[string]any{"type": "function", "function": function})
}

// checkName checks the name of a tool, which becomes a part of the prompt.
func checkName(param, name string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, odd) {
		return bad(param, "a tool's name has letters, digits, _, - and ., at most %d; this is %q", maxName, clip(name, 200))
	}
	return nil
}

// replay is an earlier call of the model. Arguments that are not an object, such as those of a call that was
// cut off, remain a text, so that a conversation can continue with them.
func replay(param, id, name, arguments string) (chat.ToolCall, error) {
	if err := checkName(param, name); err != nil {
		return chat.ToolCall{}, err
	}
	if err := checkValues(arguments); err != nil {
		return chat.ToolCall{}, bad(param, "the arguments have %v", err)
	}
	if given := strings.TrimSpace(arguments); given == "" || given == "null" {
		arguments = "{}"
	}
	if args, err := chat.PythonJSON(arguments); err == nil && strings.HasPrefix(args, "{") {
		arguments = args // formatted as models write it
	}
	return chat.ToolCall{ID: id, Name: name, Arguments: arguments}, nil
}
