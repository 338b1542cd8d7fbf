package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"

	"mla/runtime/system/child"
)

// The log of a worker of -models is not visible to anyone. The texts of prompts, if they are requested, go to
// standard output for the process that started the worker. They are split into pieces, as long lines are cut.

// The beginnings of a worker's lines with a piece of a prompt's record.
const (
	promptPiece = "prompt+ "
	promptEnd   = "prompt "
	pieceBytes  = child.LongestLine - len(promptPiece)
)

// promptLog returns the logger of the texts of prompts; nil: they are not logged.
func (s *serving) promptLog(log *slog.Logger) *slog.Logger {
	switch {
	case !s.logPrompts:
		return nil
	case isWorker():
		return slog.New(slog.NewJSONHandler(promptWriter{shown(s.env.out)}, nil))
	}
	return log
}

// promptWriter writes records in pieces. Each record must come in one Write.
type promptWriter struct{ out io.Writer }

// Write implements io.Writer.
func (w promptWriter) Write(record []byte) (int, error) {
	var lines bytes.Buffer
	rest := bytes.TrimSuffix(record, []byte("\n"))
	for ; len(rest) > pieceBytes; rest = rest[pieceBytes:] {
		lines.WriteString(promptPiece + string(rest[:pieceBytes]) + "\n")
	}
	lines.WriteString(promptEnd + string(rest) + "\n")
	_, err := w.out.Write(lines.Bytes()) // in one Write, so that other lines do not come in between
	return len(record), err
}

// promptReader joins the pieces that a promptWriter has written.
type promptReader struct {
	log   *slog.Logger
	begun strings.Builder
}

func (r *promptReader) line(line string) {
	if piece, ok := strings.CutPrefix(line, promptPiece); ok {
		r.begun.WriteString(piece)
		return
	}
	end, ok := strings.CutPrefix(line, promptEnd)
	if !ok {
		return
	}
	text := r.begun.String() + end
	r.begun.Reset()
	var record struct{ ID, Text string }
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		r.log.Warn("the text of a prompt is lost", "error", err)
		return
	}
	r.log.Info("prompt", "id", record.ID, "text", record.Text)
}
