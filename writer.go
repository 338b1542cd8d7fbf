package mla

import (
	"errors"
	"strings"

	"mla/runtime/engine"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// writer makes text of the tokens of a turn, and hands over what is certain. Of an answer it tells
// thoughts and calls from text.
type writer struct {
	turn     *turn.Turn
	form     *guided.Text
	stream   *tokenizer.Stream
	stops    *sample.Stopper
	emit     func(text string) bool // false ends the text
	thinks   func(text string)      // nil: nobody listens to thoughts
	text     strings.Builder
	thoughts strings.Builder
	calls    []chat.ToolCall
	done     bool // a stop text was found, or nobody wants more
}

// newWriter prepares a turn: what picks its tokens, and what writes them.
func (m *Model) newWriter(t *turn.Turn, g *Generation) (*writer, engine.Sampler, error) {
	w := &writer{turn: t, stream: m.tokenizer.NewStream(), stops: sample.NewStopper(g.Stop), thinks: g.Thoughts}
	own, err := m.sampler(g, t.Ends)
	if err != nil {
		return nil, nil, err
	}
	rules, err := g.rules()
	if err != nil || rules == nil {
		return w, own, err
	}
	if w.form, err = guided.NewText(own, rules, m.tokenizer, t.Prompt, t.Ends, t.Think); err != nil {
		return nil, nil, err
	}
	return w, w.form.Sampler(), nil
}

// token adds what a token completes; false ends the text.
func (w *writer) token(id int32) bool {
	if w.turn.Parser == nil {
		return w.write(w.stream.Push(id)) && w.form.Token(id)
	}
	return w.events(w.turn.Push(w.stream, id)) && w.form.Token(id) && !w.turn.Parser.Over()
}

// events adds parts of an answer.
func (w *writer) events(list []output.Event) bool {
	for _, e := range list {
		switch e.Kind {
		case output.Reasoning:
			w.think(e.Text)
		case output.Content:
			w.write(e.Text)
		case output.CallBegin:
			w.calls = append(w.calls, chat.ToolCall{ID: w.turn.CallID(e, len(w.calls)), Name: e.Text})
		case output.Arguments:
			w.calls[len(w.calls)-1].Arguments += e.Text
		case output.CallEnd:
			w.called(e)
		}
	}
	return !w.done
}

// called ends a call. One whose arguments are no JSON object is text, or a thought.
func (w *writer) called(e output.Event) {
	if e.Valid {
		return
	}
	w.calls = w.calls[:len(w.calls)-1]
	if e.Else == output.Reasoning {
		w.think(e.Text)
	} else {
		w.write(e.Text)
	}
}

func (w *writer) think(text string) {
	w.thoughts.WriteString(text)
	if w.thinks != nil {
		w.thinks(text)
	}
}

func (w *writer) write(text string) bool {
	if w.done {
		return false
	}
	text, stopped := w.stops.Push(text)
	w.put(text)
	w.done = w.done || stopped
	return !w.done
}

// end hands over what was held back.
func (w *writer) end() {
	rest := w.stream.Flush()
	if w.turn.Parser != nil {
		w.events(append(w.turn.Parser.Push(rest), w.turn.Parser.Close()...))
	} else {
		w.write(rest)
	}
	if !w.done {
		w.put(w.stops.Flush())
	}
}

func (w *writer) put(text string) {
	if text == "" {
		return
	}
	w.text.WriteString(text)
	w.done = !w.emit(text) || w.done
}

// explain is why a text could not go on.
func (w *writer) explain(err error) error {
	var none *engine.NoTokenError
	if errors.As(err, &none) {
		return w.form.Explain(err)
	}
	return err
}

// result is that of a generation whose text was written.
func (w *writer) result(r engine.Result) Result {
	return Result{Text: w.text.String(), Thoughts: w.thoughts.String(), Calls: w.calls, Tokens: r.Tokens, Reason: r.Reason,
		Prompt: len(w.turn.Prompt), Reused: r.Reused, Drafted: r.Drafted, Accepted: r.Accepted, FirstToken: r.FirstToken}
}
