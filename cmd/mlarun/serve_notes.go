package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
)

// noteLine begins a worker's line with something that a user should know: which device runs the model, and why.
const noteLine = "note "

// workerLog takes what a worker of -models has to say to the one that started it.
func workerLog(out io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(noteWriter{shown(out)}, nil))
}

// noteWriter puts noteLine before each log record. slog hands it one record a Write.
type noteWriter struct{ out io.Writer }

// Write implements io.Writer.
func (w noteWriter) Write(record []byte) (int, error) {
	_, err := w.out.Write(append([]byte(noteLine), record...))
	return len(record), err
}

// noteOf is what a worker says in a line.
func noteOf(line string) (text string, ok bool) {
	record, ok := strings.CutPrefix(line, noteLine)
	var said struct{ Msg string }
	if !ok || json.Unmarshal([]byte(record), &said) != nil {
		return "", false
	}
	return said.Msg, true
}
