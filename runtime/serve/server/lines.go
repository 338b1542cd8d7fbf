package server

import (
	"strings"
	"time"
)

// lines ends an answer at its lines, for completions of code: at one that is indented less
// than asked for, or, once there is more than one, when the time is over.
type lines struct {
	indent int           // least characters of white space in front of a line; 0: any
	limit  time.Duration // from the first token on; 0: any
	now    func() time.Time

	began   time.Time
	broken  bool // there was a line break
	inFront bool // of the first character of a line after the first one
	spaces  int  // of that line
	ended   bool
}

// push returns what of a text belongs to the answer, and whether it goes on.
func (l *lines) push(text string) (string, bool) {
	if l.began.IsZero() {
		l.began = l.now()
	}
	for i := 0; i < len(text) && !l.ended; i++ {
		switch c := text[i]; {
		case c == '\n':
			l.broken, l.inFront, l.spaces = true, true, 0
		case !l.inFront:
		case c == ' ' || c == '\t':
			l.spaces++
		default:
			l.inFront = false
			if l.ended = l.spaces < l.indent; l.ended {
				text = text[:i]
			}
		}
	}
	if l.limit > 0 && l.broken && l.now().Sub(l.began) > l.limit {
		l.ended = true
	}
	return text, !l.ended
}

// newLines are nil if nothing is asked for.
func newLines(indent int, limit time.Duration) *lines {
	if indent <= 0 && limit <= 0 {
		return nil
	}
	return &lines{indent: indent, limit: limit, now: time.Now}
}

// hasNewLine says whether a text has one.
func hasNewLine(text string) bool { return strings.Contains(text, "\n") }
