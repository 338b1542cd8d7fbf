package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"mla/runtime/chat"
	"mla/runtime/chat/output"
	"mla/runtime/tokenizer"
)

// conversation is what is to be answered, whatever API it came by.
type conversation struct {
	messages []chat.Message
	tools    []json.RawMessage // as OpenAI declares them
	choice   toolChoice
	oneCall  bool    // at most one call in an answer
	thinking *bool   // nil: as the template has it
	keep     bool    // the thoughts of earlier turns
	whole    bool    // a last message of the assistant is not the beginning of the answer
	bare     bool    // the prompt does not begin the assistant's turn
	budget   *int    // tokens of thoughts
	grammar  *wanted // of the answer's text; nil: none
}

// Limits on a conversation, beside that on the body.
const (
	maxTools = 512
	maxName  = 128 // bytes of a tool's name
)

// rendered is a conversation as the model gets it.
type rendered struct {
	text     string // as the renderer escapes it
	opening  string // what of the answer text ends with
	thinking bool   // the answer begins within thoughts
}

// roles are whose messages may be, in OpenAI's words, and in those of templates.
var roles = map[string]string{"system": chat.System, "developer": chat.System, "user": chat.User, "assistant": chat.Assistant, "tool": chat.Tool, "function": chat.Tool}

// readRole is a role as templates know it.
func readRole(param, role string) (string, error) {
	if known := roles[role]; known != "" {
		return known, nil
	}
	return "", bad(param, "%q; expected one of %s", clip(role, 50), strings.Join(slices.Sorted(maps.Keys(roles)), ", "))
}

// render writes a conversation in the model's format.
func (s *Server) render(c *conversation) (*rendered, error) {
	if len(c.messages) == 0 {
		return nil, bad("messages", "there is none")
	}
	opts := chat.Options{AddGenerationPrompt: !c.bare, Thinking: c.thinking, KeepThinking: c.keep}
	if !c.choice.none {
		opts.Tools = c.tools
	}
	if len(opts.Tools) > 0 && s.format == nil {
		return nil, bad("tools", "the model's chat template says nothing about calls, or in a way that is not known")
	}
	if len(opts.Tools) > 0 && s.toolless {
		return nil, bad("tools", "the model's chat template does not show tools to the model; one that does can be given with -chat-template")
	}
	if c.choice.must {
		if len(c.tools) == 0 {
			return nil, bad("tool_choice", "there are no tools")
		}
		if c.bare {
			return nil, bad("add_generation_prompt", "false; a call that is asked for begins the assistant's turn")
		}
		if c.thinking == nil { // a call has to come first
			off := false
			opts.Thinking = &off
		}
	}
	messages := c.messages
	if c.thinking == nil || *c.thinking {
		messages = s.calls.think(messages)
	}
	if last := &messages[len(messages)-1]; last.Role == chat.Assistant && len(last.ToolCalls) == 0 && !c.whole && !c.bare {
		if last.Content != "" || last.Reasoning != "" {
			return s.goOn(messages, opts, c)
		}
		if messages = messages[:len(messages)-1]; len(messages) == 0 { // it begins nothing
			return nil, bad("messages", "there is but an empty one")
		}
	}
	text, err := s.cfg.Chat.Render(messages, opts)
	if err != nil && c.thinking == nil && opts.Thinking != nil { // the template always thinks
		opts.Thinking = nil
		text, err = s.cfg.Chat.Render(messages, opts)
	}
	if err != nil {
		return nil, bad("messages", "%v", err)
	}
	r := &rendered{text: text, thinking: strings.HasSuffix(strings.TrimRight(text, "\n"), "<think>")}
	if c.choice.must {
		r.opening = s.format.Opening(c.choice.name)
		if r.thinking {
			r.text = strings.TrimRight(r.text, "\n") + "\n</think>\n\n"
			r.thinking = false
		}
		r.text += r.opening
	}
	return r, nil
}

// goOn writes a conversation whose last message is the beginning of the answer, or of the
// thoughts before it: up to where that ends in what the template writes.
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
	if text, ok := strings.CutPrefix(last.Content, "<think>"); ok && !strings.Contains(text, "</think>") {
		last.Content, last.Reasoning = "", text
	}
	thinking := last.Content == ""
	end := "\ufdd3" + rand.Text() // which nobody else writes, and no template takes for space
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

// encode makes a prompt of it.
func (s *Server) encode(r *rendered) []int32 {
	return s.tok.Encode(r.text, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true, Escaped: true})
}

// chatJob is the job to answer a conversation.
func (s *Server) chatJob(c *conversation) (*job, error) {
	r, err := s.render(c)
	if err != nil {
		return nil, err
	}
	config := output.Config{Thinking: r.thinking}
	if len(c.tools) > 0 && !c.choice.none {
		config.Format, config.Tools = s.format, c.callable()
	}
	budget := -1
	if c.budget != nil {
		if budget = *c.budget; budget < 0 {
			return nil, bad("budget", "%d; expected 0 or more", budget)
		}
	}
	if config.Format != nil && !c.choice.must {
		c.grammar = s.orCalls(c.grammar)
	}
	content, err := s.grammars.get(c.grammar)
	if err != nil {
		return nil, err
	}
	calls, err := s.callGrammar(c)
	if err != nil {
		return nil, err
	}
	return &job{
		grammar: content, calls: calls, budget: budget, unthink: s.tok.Encode("</think>", tokenizer.EncodeOptions{ParseSpecial: true}),
		prompts: [][]int32{s.encode(r)}, n: 1, max: -1, logprobs: -1, visible: s.visible, opening: r.opening, oneCall: c.oneCall,
		end:    func(id int32) bool { return s.tok.IsEOG(id) || s.stops[id] },
		parser: func() *output.Parser { return output.New(config) },
	}, nil
}

// declare checks the declaration of a tool, {"name": …}, and returns it as OpenAI's.
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

// checkName looks at the name of a tool, which becomes a part of the prompt.
func checkName(param, name string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, odd) {
		return bad(param, "a tool's name has letters, digits, _, - and ., at most %d; this is %q", maxName, clip(name, 200))
	}
	return nil
}

// replay is a call that the model made before, as it has written it.
func (s *Server) replay(param, id, name, arguments string) (chat.ToolCall, error) {
	if err := checkName(param, name); err != nil {
		return chat.ToolCall{}, err
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	args, err := s.calls.arguments(id, arguments)
	if err == nil && !strings.HasPrefix(args, "{") {
		err = errors.New("expected a JSON object")
	}
	if err != nil {
		return chat.ToolCall{}, bad(param, "the arguments of %s: %v", name, err)
	}
	return chat.ToolCall{ID: id, Name: name, Arguments: args}, nil
}

// part is a piece of a message's content, in any of the APIs.
type part struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// content is a text, or a list of parts that are texts.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []part
	if err := json.Unmarshal(data, &parts); err != nil {
		return bad("content", "expected a text, or a list of parts")
	}
	for _, p := range parts {
		if p.Text == nil || !strings.HasSuffix(p.Type, "text") {
			return bad("content", "a part of type %q; the model reads only text", clip(p.Type, 50))
		}
		*c += content(*p.Text)
	}
	return nil
}
