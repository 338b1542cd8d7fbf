package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// visible shows what steers a terminal in place of doing it. Models write what their files and their prompts make them
// write: escape codes in it could set the title, clear the screen, answer in the user's name, or turn the text around.
type visible struct {
	w    io.Writer
	rest []byte // the beginning of a character, of which the end has not come yet
}

// shown is a stream for what others have written: a model, a user of a conversation. A terminal gets it made visible;
// files and pipes get the bytes.
func shown(stream io.Writer) io.Writer {
	if _, ok := terminal(stream); ok {
		return &visible{w: stream}
	}
	return stream
}

// Write implements io.Writer. A character that is cut is shown with the write that completes it.
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

// visibleRune is a character as a terminal may be sent it. U+FFFD stands for bytes that are no character.
func visibleRune(r rune) string {
	switch {
	case r == '\n', r == '\t':
	case r < ' ': // C0: Unicode has pictures of them
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r >= 0x80 && r < 0xa0, turnsText(r):
		return fmt.Sprintf("<%04x>", r)
	}
	return string(r)
}

// turnsText says that a character changes the direction of the text after it, so that it reads as it is not.
func turnsText(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
