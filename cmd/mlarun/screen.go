package main

import (
	"fmt"
	"io"
)

// screen shows the thoughts of an answer apart from its text: dimmed on a terminal, else
// between two lines of their own. A nil screen shows nothing.
type screen struct {
	w        io.Writer // nil: only how many tokens there are
	thoughts io.Writer // w, for the text of the model
	dim      bool      // w understands the escape code for dim text
	thinking bool
	bar      *progress
}

const dimOn, dimOff = "\x1b[2m", "\x1b[22m"

// newScreen is the place for thoughts that the flags ask for: the terminal, beside the
// answer. Where the answer goes elsewhere, they go to stderr, and only if they are asked
// for: what is read from stdout is the answer.
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

// think shows a thought. An error of the terminal is that of the answer, which goes there
// too.
func (s *screen) think(text string) {
	if s == nil || s.w == nil || text == "" {
		return
	}
	before, after := "", ""
	if s.dim { // each piece by itself: whatever ends the program leaves the terminal as it was
		before, after = dimOn, dimOff
	} else if !s.thinking {
		before = "(thinking)\n"
	}
	s.thinking = true
	fmt.Fprint(s.w, before)
	fmt.Fprint(s.thoughts, text)
	fmt.Fprint(s.w, after)
}

// endThoughts separates what follows from the thoughts, if there were any.
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
