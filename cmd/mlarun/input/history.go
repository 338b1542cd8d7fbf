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

// Limits of a history.
const (
	mostMessages = 1000
	mostBytes    = 1 << 20  // of the file that are read: its end
	longest      = 16 << 10 // bytes of a message that is kept
)

// History is what was said before, the last thing last. It is kept in a file, a message a
// line as JSON, private to the user. Where the file cannot be read or written it is only
// that of this run.
type History struct {
	path     string
	messages []string
}

// DefaultHistory is the file in the user's state folder (XDG); "" where there is none.
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

// OpenHistory reads a history; path "" is one that is not kept.
func OpenHistory(path string) *History {
	h := &History{path: path}
	if path == "" {
		return h
	}
	file, err := userfile.Open(path)
	if errors.Is(err, userfile.ErrNotRegular) {
		h.path = "" // somebody else's
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

// read takes messages from lines; what is none is left out.
func (h *History) read(data []byte) {
	for line := range bytes.Lines(data) {
		var text string
		if json.Unmarshal(line, &text) == nil {
			h.remember(text)
		}
	}
}

// remember adds a message, unless it says nothing new.
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

// Add adds a message. Several programs may add to one file.
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
	_, _ = file.Write(append(line, '\n')) // a chat goes on without a history
	_ = file.Close()
}

// shorten writes the file anew with what is remembered, in one step.
func (h *History) shorten() {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	for _, text := range h.messages {
		if e.Encode(text) != nil {
			return
		}
	}
	_ = atomicfile.WritePrivate(h.path, data.Bytes()) // a chat goes on with a long history
}
