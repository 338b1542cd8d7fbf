package main

import (
	"bufio"
	"io"
	"strings"

	"golang.org/x/term"
)

// lines reads the user's messages.
type lines interface {
	// read returns a line without its end; io.EOF may come with a last line.
	read() (string, error)
}

// newLines edits lines on a terminal and reads them as they are otherwise.
func newLines(e *env) lines {
	fd, ok := terminal(e.in)
	if !ok {
		return &plainLines{bufio.NewReader(e.in)}
	}
	return &editedLines{fd: fd, term: term.NewTerminal(keys{e.in, e.err}, "> ")}
}

// plainLines reads from a pipe or a file.
type plainLines struct{ r *bufio.Reader }

func (l *plainLines) read() (string, error) {
	line, err := l.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// editedLines reads from a terminal, with editing and history. The terminal is
// in raw mode only while a line is read, so that Ctrl-C interrupts an answer.
type editedLines struct {
	fd   int
	term *term.Terminal
}

func (l *editedLines) read() (line string, err error) {
	state, err := term.MakeRaw(l.fd)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := term.Restore(l.fd, state); err == nil {
			err = e
		}
	}()
	if width, height, err := term.GetSize(l.fd); err == nil && width > 0 {
		if err := l.term.SetSize(width, height); err != nil {
			return "", err
		}
	}
	return l.term.ReadLine()
}

// keys is the terminal in raw mode. package term ends the input at Ctrl-C;
// here it only drops the line, like Ctrl-U.
type keys struct {
	io.Reader
	io.Writer
}

const ctrlC, ctrlU = 3, 21

func (k keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	for i := range p[:n] {
		if p[i] == ctrlC {
			p[i] = ctrlU
		}
	}
	return n, err
}
