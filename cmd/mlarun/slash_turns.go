package main

import (
	"errors"
	"slices"

	"mla/runtime/text/chat"
)

// lastMessage returns the index of the user's last message; -1 if there is none.
func (c *conversation) lastMessage() int {
	for i, m := range slices.Backward(c.messages) {
		if m.Role == chat.User {
			return i
		}
	}
	return -1
}

// errNoMessage is the error of commands that need a message.
var errNoMessage = errors.New("there is no message yet")

// regen answers the last message again, with other random numbers.
func (c *conversation) regen(string) (string, error) {
	i := c.lastMessage()
	if i < 0 {
		return "", errNoMessage
	}
	before := slices.Clone(c.messages)
	c.messages = c.messages[:i+1]
	s := c.settings.sampling
	s.seed++
	s.params.Seed = s.seed
	return "", c.reply(before)
}

// undo removes the last message and its answer.
func (c *conversation) undo(string) (string, error) {
	i := c.lastMessage()
	if i < 0 {
		return "", errNoMessage
	}
	c.messages = c.messages[:i]
	return "The last message is taken back.", nil
}

// replaceSystem shows or replaces the system message. The other messages stay.
func (c *conversation) replaceSystem(text string) (string, error) {
	has := len(c.messages) > 0 && c.messages[0].Role == chat.System
	switch {
	case text == "" && !has:
		return "There is no system message.", nil
	case text == "":
		return c.messages[0].Content, nil
	case has:
		c.messages[0].Content = text
	default:
		c.messages = slices.Insert(c.messages, 0, chat.Message{Role: chat.System, Content: text})
	}
	c.settings.system = text
	return "The system message is replaced.", nil
}
