package main

import (
	"io"

	"mla/runtime/text/chat/turn"
)

// printer writes an answer as it is generated, and its thoughts on a screen.
type printer struct {
	*turn.Writer
	w      io.Writer // receives the text
	screen *screen   // receives thoughts; nil: they are dropped
	err    error     // error of w
}

func newPrinter(to *turn.Writer, w io.Writer, sc *screen) *printer {
	p := &printer{Writer: to, w: w, screen: sc}
	p.Emit, p.Think = p.emit, sc.think
	return p
}

// token writes the text that a token completes. It returns false to end the generation.
func (p *printer) token(id int32) bool {
	if p.Thinking() {
		p.screen.thinks(p.Thought + 1)
	}
	return p.Token(id)
}

func (p *printer) emit(text string) bool {
	p.screen.endThoughts()
	_, p.err = io.WriteString(p.w, text)
	return p.err == nil
}

// end writes the text held back. whole says whether the model has ended the answer.
func (p *printer) end(whole bool) {
	p.End(whole)
	p.screen.endThoughts()
}
