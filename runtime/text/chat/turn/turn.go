// Package turn joins a conversation with a tokenizer: the tokens of its prompt, the tokens that end the
// answer, and the parser of the answer. The command line and the library answer chats with it. The server has
// its own code, as its protocols need more.
package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/tokenizer"
)

// Turn is the next turn of a conversation.
type Turn struct {
	Prompt []int32
	// Parser parses the answer; nil: the output is plain text.
	Parser *output.Parser
	// Think is the markers of an answer's thoughts.
	Think [2]string

	tokenizer *tokenizer.Tokenizer
	stops     []int32
	markers   map[int32]string
	format    *output.Format
	tools     []json.RawMessage
	before    int // number of calls in the conversation
}

// Text is the turn that continues a plain text.
func Text(t *tokenizer.Tokenizer, prompt []int32) *Turn {
	return &Turn{Prompt: prompt, tokenizer: t}
}

// New is the turn that answers messages. It fails for tools that the template does not support.
func New(t *tokenizer.Tokenizer, r chat.Renderer, messages []chat.Message, o chat.Options) (*Turn, error) {
	out := &Turn{Think: chat.ThoughtMarks(r.Template()), tokenizer: t, markers: map[int32]string{}, tools: o.Tools}
	if len(o.Tools) > 0 {
		if out.format = output.FormatOf(r.Template()); out.format == nil {
			return nil, errors.New("the model's chat template says nothing about calls of tools, or in a way that is not known; another template may be given")
		}
		if chat.HidesTools(r) {
			return nil, errors.New("the model's chat template does not show tools to the model; another template may be given")
		}
	}
	o.AddGenerationPrompt = true
	text, err := r.Render(messages, o)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		out.before += len(m.ToolCalls)
	}
	markers := out.Think[:]
	if out.format != nil {
		markers = append(markers, out.format.Markers()...)
	}
	for _, text := range markers {
		if id, ok := t.TokenID(text); ok {
			out.markers[id] = text
		}
	}
	for _, text := range r.Stops() {
		if id, ok := t.TokenID(text); ok && !out.goesOn(text) {
			out.stops = append(out.stops, id)
		}
	}
	out.Prompt = t.Encode(text, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true, Escaped: true})
	out.Parser = output.New(output.Config{
		Think: out.Think, Thinking: strings.HasSuffix(strings.TrimRight(text, "\n"), out.Think[0]),
		Format: out.format, Tools: o.Tools,
	})
	return out, nil
}

// goesOn says whether a call may follow the end of the model's turn; the parser decides whether one does.
func (t *Turn) goesOn(end string) bool {
	return t.format != nil && slices.Contains(t.format.TurnEnds(), end)
}

// Ends says whether a token ends the answer.
func (t *Turn) Ends(id int32) bool { return t.tokenizer.IsEOG(id) || slices.Contains(t.stops, id) }

// push returns the events of a token. Markers of thoughts and calls are control tokens, whose names the
// stream leaves out.
func (t *Turn) push(s *tokenizer.Stream, id int32) []output.Event {
	if name, ok := t.markers[id]; ok {
		return t.Parser.Push(s.Flush() + name)
	}
	return t.Parser.Push(s.Push(id))
}

// callID is the id of the answer's call with a number, from 0. An id that the model has written is kept.
func (t *Turn) callID(e output.Event, number int) string {
	switch n := t.before + number; {
	case e.ID != "":
		return e.ID
	case t.format.Numbered:
		return output.NumberedID(e.Text, n)
	default:
		return fmt.Sprintf("%0*d", max(t.format.IDLength, 1), n)
	}
}
