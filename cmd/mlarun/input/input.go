// Package input reads the user's messages in a chat. A message is one line or, between two """, several
// lines. On a terminal, lines are edited, with a history that persists between runs, and pasted text is one
// message however many lines it has.
package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrInterrupted is the error of Read after Ctrl-C, which discards a message.
var ErrInterrupted = errors.New("interrupted")

// quotes enclose a message of several lines.
const quotes = `"""`

// liner reads one line, after a prompt. io.EOF may come with a last line.
type liner interface {
	line(prompt string) (string, error)
}

// Reader reads messages.
type Reader struct {
	lines   liner
	history *History // nil: no history
}

// firstPrompt is the prompt of a message's first line, nextPrompt that of the other lines.
const firstPrompt, nextPrompt = "> ", ". "

// Read returns the next message, without the quotes around it. The error is io.EOF at the end of the input,
// which may come with a last message, ErrInterrupted after Ctrl-C, or an error of the terminal.
func (r *Reader) Read() (string, error) {
	text, err := r.lines.line(firstPrompt)
	for err == nil && open(text) {
		var more string
		more, err = r.lines.line(nextPrompt)
		text += "\n" + more
	}
	if errors.Is(err, ErrInterrupted) {
		return "", err
	}
	text = unquoted(text)
	if r.history != nil {
		r.history.Add(text)
	}
	return text, err
}

// open says whether a message needs more lines.
func open(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), quotes) && strings.Count(text, quotes)%2 == 1
}

// unquoted returns a message without the quotes around it and the line breaks next to them.
func unquoted(text string) string {
	inner, quoted := strings.CutPrefix(strings.TrimSpace(text), quotes)
	if !quoted {
		return text
	}
	inner = strings.TrimSuffix(inner, quotes)
	return strings.TrimSuffix(strings.TrimPrefix(inner, "\n"), "\n")
}

// plain reads lines without editing.
type plain struct {
	r *bufio.Reader
	w io.Writer // receives prompts; nil: no prompts
}

// Plain returns a Reader of a pipe or a file, or of a terminal that cannot edit lines. Prompts are written to
// w unless it is nil.
func Plain(r io.Reader, w io.Writer) *Reader {
	return &Reader{lines: &plain{bufio.NewReader(r), w}}
}

// maxLine is the greatest length of a line, in bytes.
const maxLine = 16 << 20

func (p *plain) line(prompt string) (string, error) {
	if p.w != nil {
		fmt.Fprint(p.w, prompt)
	}
	var line []byte
	for {
		part, err := p.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", fmt.Errorf("a line of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
}
