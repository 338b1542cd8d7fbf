package server

import (
	"strings"
	"time"
)

// lines ends an answer at a line, for code completion: before a line that is indented less than asked for,
// or, after the first line, when the time has passed.
type lines struct {
	indent int           // least white space before a line, in characters; 0: any
	limit  time.Duration // from the first token on; 0: no limit
	now    func() time.Time

	began   time.Time
	broken  bool // there was a line break
	inFront bool // before the first character of a line, except the first line
	spaces  int  // white space so far in front of that line
	ended   bool
}

// push returns the part of a text that belongs to the answer, and whether the answer continues.
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

// newLines returns nil if nothing is asked for.
func newLines(indent int, limit time.Duration) *lines {
	if indent <= 0 && limit <= 0 {
		return nil
	}
	return &lines{indent: indent, limit: limit, now: time.Now}
}

// hasNewLine says whether a text has one.
func hasNewLine(text string) bool { return strings.Contains(text, "\n") }
