package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mla/cmd/mlarun/input"
)

// repl chats until the input ends. first, if not empty, is the first message.
func (c *conversation) repl(first string) error {
	e := c.settings.env
	messages, err := c.settings.messages(c.complete)
	if err != nil {
		return err
	}
	if _, ok := terminal(e.in); ok {
		c.settings.note("%s\n", "Chat with the model; /help lists the commands.")
	}
	for message := first; ; {
		if message = strings.TrimSpace(message); message != "" {
			quit, err := c.obey(message)
			if quit || err != nil {
				return err
			}
		}
		message, err = messages.Read()
		switch {
		case errors.Is(err, input.ErrInterrupted):
			message = ""
		case errors.Is(err, io.EOF) && message == "":
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
	}
}

// messages returns the reader of the user's messages, with line editing if stdin and stdout are a terminal
// that supports it.
func (s *settings) messages(complete input.Completer) (*input.Reader, error) {
	e := s.env
	if _, interactive := terminal(e.in); !interactive {
		return input.Plain(e.in, nil), nil
	}
	if !e.escapes(e.in) || !e.escapes(e.out) {
		return input.Plain(e.in, e.err), nil
	}
	path := s.history
	if path == "" {
		path = input.DefaultHistory(e.variable)
	}
	if path == "off" {
		path = ""
	}
	return input.Edited(input.OpenHistory(path), complete)
}

// obey runs a command or answers a message. A message that is to begin with a slash is typed with two.
func (c *conversation) obey(line string) (quit bool, err error) {
	if !strings.HasPrefix(line, "/") || strings.Contains(line, "\n") && slashOf(line) == nil {
		return false, c.turn(line)
	}
	if strings.HasPrefix(line, "//") {
		return false, c.turn(line[1:])
	}
	name, rest, _ := strings.Cut(line, " ")
	s := slashOf(line)
	if s == nil {
		fmt.Fprintf(c.settings.env.err, "Unknown command %s; /help lists them.\n", name)
		return false, nil
	}
	said, err := s.run(c, strings.TrimSpace(rest))
	switch {
	case errors.Is(err, errQuit):
		return true, nil
	case err != nil:
		said = fmt.Sprintf("%s: %v", s.name, err)
	}
	if said != "" {
		fmt.Fprintln(c.settings.env.err, said)
	}
	return false, nil
}
