package turn

import (
	"strings"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Writer converts the tokens of a turn to text, and emits what is certain. In an answer it separates thoughts
// and calls from text.
type Writer struct {
	Emit  func(text string) bool // gets the text; false ends it; may be nil
	Think func(text string)      // gets the thoughts; may be nil
	// Answer is the text's position in its rules; nil: no rules.
	Answer *guided.Answer
	Calls  []chat.ToolCall
	// Thought is the number of tokens of the thoughts.
	Thought int

	turn     *Turn
	stream   *tokenizer.Stream
	stops    *sample.Stopper
	text     strings.Builder
	thoughts strings.Builder
	done     bool // a stop text was found, or Emit has returned false
}

// NewWriter returns the writer of a turn with stop texts and rules.
func (t *Turn) NewWriter(stops []string, rules guided.Rules) *Writer {
	return &Writer{turn: t, stream: t.tokenizer.NewStream(), stops: sample.NewStopper(stops), Answer: guided.NewAnswer(t.tokenizer, t.Parser, rules)}
}

// Text is the text emitted so far.
func (w *Writer) Text() string { return w.text.String() }

// Thoughts is the thoughts so far.
func (w *Writer) Thoughts() string { return w.thoughts.String() }

// Thinking says whether the next token belongs to the thoughts.
func (w *Writer) Thinking() bool { return w.turn.Parser != nil && w.turn.Parser.Thinking() }

// Token adds a token; false ends the text.
func (w *Writer) Token(id int32) bool {
	if w.turn.Parser == nil {
		return w.write(w.stream.Push(id)) && w.Answer.Token(id, false, nil)
	}
	thought := w.Thinking()
	if thought {
		w.Thought++
	}
	events := w.turn.push(w.stream, id)
	more := w.Answer.Token(id, thought, events)
	return w.events(events) && more && !w.turn.Parser.Over()
}

// events adds parts of an answer.
func (w *Writer) events(list []output.Event) bool {
	for _, e := range list {
		switch e.Kind {
		case output.Reasoning:
			w.think(e.Text)
		case output.Content:
			w.write(e.Text)
		case output.CallBegin:
			w.Calls = append(w.Calls, chat.ToolCall{ID: w.turn.callID(e, len(w.Calls)), Name: e.Text})
		case output.Arguments:
			w.Calls[len(w.Calls)-1].Arguments += e.Text
		case output.CallEnd:
			w.called(e)
		}
	}
	return !w.done
}

// called ends a call. A call whose arguments are not a JSON object becomes text, or a thought.
func (w *Writer) called(e output.Event) {
	if e.Valid {
		return
	}
	w.Calls = w.Calls[:len(w.Calls)-1]
	if e.Else == output.Reasoning {
		w.think(e.Text)
	} else {
		w.write(e.Text)
	}
}

func (w *Writer) think(text string) {
	w.thoughts.WriteString(text)
	if w.Think != nil {
		w.Think(text)
	}
}

func (w *Writer) write(text string) bool {
	if w.done {
		return false
	}
	text, stopped := w.stops.Push(text)
	w.put(text)
	w.done = w.done || stopped
	return !w.done
}

// End emits what was held back. whole says that the model has ended the text: then a call without its end
// marker is complete.
func (w *Writer) End(whole bool) {
	if w.done {
		return
	}
	rest := w.stream.Flush()
	if p := w.turn.Parser; p == nil {
		w.write(rest)
	} else {
		last := p.Cut
		if whole {
			last = p.Close
		}
		w.events(append(p.Push(rest), last()...))
	}
	if !w.done {
		w.put(w.stops.Flush())
	}
}

func (w *Writer) put(text string) {
	if text == "" {
		return
	}
	w.text.WriteString(text)
	w.done = w.Emit != nil && !w.Emit(text) || w.done
}
