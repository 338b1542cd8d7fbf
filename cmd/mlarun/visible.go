package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// visible shows control characters instead of sending them to a terminal. A model writes what its files and
// prompts make it write: escape codes in its text could set the title, clear the screen, answer in the user's
// name, or reverse the direction of the text.
type visible struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end has not arrived
}

// shown returns a stream for text that others have written: a model, or a user in a conversation. On a
// terminal, control characters are made visible. Files and pipes get the bytes.
func shown(stream io.Writer) io.Writer {
	if _, ok := terminal(stream); ok {
		return &visible{w: stream}
	}
	return stream
}

// Write implements io.Writer. A split character is shown by the write that completes it.
func (v *visible) Write(data []byte) (int, error) {
	var text strings.Builder
	all := append(v.rest, data...)
	for len(all) > 0 && utf8.FullRune(all) {
		r, size := utf8.DecodeRune(all)
		text.WriteString(visibleRune(r))
		all = all[size:]
	}
	v.rest = append([]byte(nil), all...)
	if _, err := io.WriteString(v.w, text.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}

// visibleRune returns a character in the form that a terminal may receive. U+FFFD replaces invalid bytes.
func visibleRune(r rune) string {
	switch {
	case r == '\n', r == '\t':
	case r < ' ': // C0: Unicode has pictures of these characters
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r >= 0x80 && r < 0xa0, turnsText(r):
		return fmt.Sprintf("<%04x>", r)
	}
	return string(r)
}

// turnsText says whether a character changes the direction of the text after it, which could disguise the
// text.
func turnsText(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
