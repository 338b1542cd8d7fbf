package main

import (
	"fmt"
	"io"
)

// screen shows the thoughts of an answer separately from its text: dimmed on a terminal, else between two
// marker lines. A nil screen shows nothing.
type screen struct {
	w        io.Writer // nil: only the number of tokens is shown
	thoughts io.Writer // w, for text from the model
	dim      bool      // w supports the escape code for dim text
	thinking bool
	bar      *progress
}

const dimOn, dimOff = "\x1b[2m", "\x1b[22m"

// newScreen returns the screen that the flags select: the terminal on which the answer is printed. If the
// answer goes elsewhere, thoughts go to stderr, and only if they are requested, so that stdout has only the
// answer.
func (s *settings) newScreen() *screen {
	_, onTerminal := terminal(s.env.out)
	sc := &screen{bar: s.progress("thinking")}
	show := onTerminal
	if s.thinks.show != nil {
		show = *s.thinks.show
	}
	switch {
	case !show:
	case onTerminal:
		sc.w, sc.dim = s.env.out, s.env.colours(s.env.out)
	default:
		sc.w, sc.dim = s.env.err, s.env.colours(s.env.err)
	}
	if sc.w != nil {
		sc.thoughts = shown(sc.w)
	}
	return sc
}

// thinks counts tokens of thoughts that are not shown.
func (s *screen) thinks(tokens int) {
	if s != nil && s.w == nil && s.bar.due() {
		s.bar.show(fmt.Sprintf("%d tokens", tokens))
	}
}

// think shows a thought. An error of the terminal also occurs when the answer is written, and is reported
// there.
func (s *screen) think(text string) {
	if s == nil || s.w == nil || text == "" {
		return
	}
	before, after := "", ""
	if s.dim { // each piece has its own codes, so that the terminal is restored whenever the program ends
		before, after = dimOn, dimOff
	} else if !s.thinking {
		before = "(thinking)\n"
	}
	s.thinking = true
	fmt.Fprint(s.w, before)
	fmt.Fprint(s.thoughts, text)
	fmt.Fprint(s.w, after)
}

// endThoughts separates the following text from the thoughts, if there were any.
func (s *screen) endThoughts() {
	switch {
	case s == nil:
	case s.w == nil:
		s.bar.clear()
	case s.thinking && s.dim:
		fmt.Fprint(s.w, "\n\n")
	case s.thinking:
		fmt.Fprint(s.w, "\n(end of thinking)\n\n")
	}
	if s != nil {
		s.thinking = false
	}
}
