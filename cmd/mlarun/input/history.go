package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mla/runtime/system/atomicfile"
	"mla/runtime/system/userfile"
)

// The limits of a history.
const (
	mostMessages = 1000
	mostBytes    = 1 << 20  // only the end of the file is read
	longest      = 16 << 10 // bytes of a message; longer ones are not kept
)

// History holds earlier messages, the latest last. It is kept in a file that is private to the user, with one
// message per line as JSON. If the file cannot be read or written, the history lasts for this run only.
type History struct {
	path     string
	messages []string
}

// DefaultHistory returns the file in the user's state folder (XDG); "" if there is none.
func DefaultHistory(getenv func(string) string) string {
	folder := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		folder = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(folder, "mla", "history")
}

// OpenHistory reads a history. With an empty path the history is not kept.
func OpenHistory(path string) *History {
	h := &History{path: path}
	if path == "" {
		return h
	}
	file, err := userfile.Open(path)
	if errors.Is(err, userfile.ErrNotRegular) {
		h.path = "" // the file belongs to another user
	}
	if err != nil {
		return h
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return h
	}
	from := max(0, info.Size()-mostBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, from, mostBytes))
	if err != nil {
		return h
	}
	h.read(data)
	if from > 0 {
		h.shorten()
	}
	return h
}

// read takes messages from lines. Lines that are not messages are skipped.
func (h *History) read(data []byte) {
	for line := range bytes.Lines(data) {
		var text string
		if json.Unmarshal(line, &text) == nil {
			h.remember(text)
		}
	}
}

// remember adds a message, unless it is empty, too long, or repeats the last one. It says whether it did.
func (h *History) remember(text string) bool {
	if strings.TrimSpace(text) == "" || len(text) > longest || len(h.messages) > 0 && h.messages[len(h.messages)-1] == text {
		return false
	}
	h.messages = append(h.messages, text)
	if len(h.messages) > mostMessages {
		h.messages = h.messages[1:]
	}
	return true
}

// Add adds a message. Several programs may add to one file at once.
func (h *History) Add(text string) {
	if !h.remember(text) || h.path == "" {
		return
	}
	line, err := json.Marshal(text)
	if err != nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(append(line, '\n')) // a chat continues without a history
	_ = file.Close()
}

// shorten rewrites the file with the remembered messages, atomically.
func (h *History) shorten() {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	for _, text := range h.messages {
		if e.Encode(text) != nil {
			return
		}
	}
	_ = atomicfile.WritePrivate(h.path, data.Bytes()) // a chat continues with a long history
}
