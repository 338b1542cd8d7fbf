package main

import (
	"io"
	"strings"

	"mla/runtime/text/chat/output"
	turns "mla/runtime/text/chat/turn"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// printer writes tokens as text, as soon as it is certain. Of a chat's answer it tells
// thoughts from text.
type printer struct {
	w      io.Writer // of the text
	stream *tokenizer.Stream
	stops  *sample.Stopper
	text   strings.Builder // all that was written
	done   bool            // a stop string was found
	err    error           // of w
	turn   *turns.Turn
	*answerParts
}

// answerParts is what a printer has beside for answers of chats.
type answerParts struct {
	screen   *screen // where thoughts go; nil: nowhere
	thoughts strings.Builder
	thought  int // tokens of thoughts
}

// token writes what a token completes; false ends the generation.
func (p *printer) token(id int32) bool {
	if p.turn.Parser == nil {
		return p.write(p.stream.Push(id))
	}
	if p.turn.Parser.Thinking() {
		p.thought++
		p.screen.thinks(p.thought)
	}
	return p.events(p.turn.Push(p.stream, id))
}

// events writes what the parser has found.
func (p *printer) events(list []output.Event) bool {
	for _, e := range list {
		if e.Kind == output.Reasoning {
			p.thoughts.WriteString(e.Text)
			p.screen.think(e.Text)
			continue
		}
		if !p.write(e.Text) {
			return false
		}
	}
	return !p.done && p.err == nil
}

func (p *printer) write(text string) bool {
	text, p.done = p.stops.Push(text)
	p.put(text)
	return !p.done && p.err == nil
}

// end writes what was held back.
func (p *printer) end() {
	rest := p.stream.Flush()
	switch {
	case p.done:
	case p.turn.Parser == nil:
		p.write(rest)
	default:
		p.events(append(p.turn.Parser.Push(rest), p.turn.Parser.Close()...))
	}
	if !p.done {
		p.put(p.stops.Flush())
	}
	p.screen.endThoughts()
}

func (p *printer) put(text string) {
	if text == "" || p.err != nil {
		return
	}
	p.screen.endThoughts()
	p.text.WriteString(text)
	_, p.err = io.WriteString(p.w, text)
}
