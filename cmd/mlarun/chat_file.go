package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mla/runtime/system/atomicfile"
	"mla/runtime/system/userfile"
	"mla/runtime/text/chat"
)

// chatFormatName is the first field of the files of /save.
const chatFormatName = "mla chat 1"

// chatFile is a conversation as stored in a file.
type chatFile struct {
	Format   string        `json:"format"`
	Messages []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content,omitempty"`
}

// readChat reads a conversation. The author of the file is unknown, so everything in it is checked.
func readChat(path string) (*chatFile, error) {
	file, err := userfile.OpenPiped(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := readText(path, file)
	if err != nil {
		return nil, err
	}
	var c chatFile
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Format != chatFormatName {
		return nil, fmt.Errorf("%s is no conversation that /save wrote", path)
	}
	for i, m := range c.Messages {
		if !slices.Contains([]string{chat.System, chat.User, chat.Assistant}, m.Role) {
			return nil, fmt.Errorf("%s: message %d has the role %.32q", path, i+1, m.Role)
		}
	}
	return &c, nil
}

// saveChat writes the conversation. It never overwrites a file that is not a conversation.
func (c *conversation) saveChat(path string) (string, error) {
	if path == "" {
		return "", errors.New("to which file?")
	}
	if _, err := readChat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w, and is not written over", err)
	}
	out := chatFile{Format: chatFormatName}
	for _, m := range c.messages {
		out.Messages = append(out.Messages, chatMessage{m.Role, m.Content, m.Reasoning})
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // code often contains < and &
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return "", err
	}
	if err := atomicfile.WritePrivate(path, data.Bytes()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %s.", counted(len(out.Messages), "message"), path), nil
}

// loadChat replaces the conversation by that of a file.
func (c *conversation) loadChat(path string) (string, error) {
	if path == "" {
		return "", errors.New("which file?")
	}
	in, err := readChat(path)
	if err != nil {
		return "", err
	}
	c.messages = nil
	for _, m := range in.Messages {
		c.messages = append(c.messages, chat.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning})
	}
	return fmt.Sprintf("%s.", counted(len(c.messages), "message")), nil
}
