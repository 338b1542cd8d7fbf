package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
)

// noteLine begins a worker's line with a message for the user: which device runs the model, and why.
const noteLine = "note "

// workerLog returns a logger that writes a worker's messages to the process that started it.
func workerLog(out io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(noteWriter{shown(out)}, nil))
}

// noteWriter writes noteLine before each log record. slog calls Write once per record.
type noteWriter struct{ out io.Writer }

// Write implements io.Writer.
func (w noteWriter) Write(record []byte) (int, error) {
	_, err := w.out.Write(append([]byte(noteLine), record...))
	return len(record), err
}

// noteOf returns the message in a worker's line.
func noteOf(line string) (text string, ok bool) {
	record, ok := strings.CutPrefix(line, noteLine)
	var said struct{ Msg string }
	if !ok || json.Unmarshal([]byte(record), &said) != nil {
		return "", false
	}
	return said.Msg, true
}
