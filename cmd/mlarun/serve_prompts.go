package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"

	"mla/runtime/system/child"
)

// A worker of -models has no log that anyone sees. The texts of prompts, if they are asked
// for, go to standard output for the one that started it: in pieces, as lines are cut that
// are too long.

// Beginnings of a worker's lines with a piece of a prompt's record.
const (
	promptPiece = "prompt+ "
	promptEnd   = "prompt "
	pieceBytes  = child.LongestLine - len(promptPiece)
)

// promptLog is where the texts of prompts go; nil: nowhere.
func (s *serving) promptLog(log *slog.Logger) *slog.Logger {
	switch {
	case !s.logPrompts:
		return nil
	case isWorker():
		return slog.New(slog.NewJSONHandler(promptWriter{shown(s.env.out)}, nil))
	}
	return log
}

// promptWriter writes records, of which each comes in one Write, in pieces.
type promptWriter struct{ out io.Writer }

// Write implements io.Writer.
func (w promptWriter) Write(record []byte) (int, error) {
	var lines bytes.Buffer
	rest := bytes.TrimSuffix(record, []byte("\n"))
	for ; len(rest) > pieceBytes; rest = rest[pieceBytes:] {
		lines.WriteString(promptPiece + string(rest[:pieceBytes]) + "\n")
	}
	lines.WriteString(promptEnd + string(rest) + "\n")
	_, err := w.out.Write(lines.Bytes()) // at once: other lines do not come in between
	return len(record), err
}

// promptReader puts together what a promptWriter has written.
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
