package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"mla/runtime/system/child"
)

// TestPromptPieces: prompts that are longer than a line come whole.
func TestPromptPieces(t *testing.T) {
	for _, n := range []int{0, 1, child.LongestLine, 5 * child.LongestLine} {
		var lines, log bytes.Buffer
		text := strings.Repeat("ü\n", n)
		slog.New(slog.NewJSONHandler(promptWriter{&lines}, nil)).Info("prompt", "id", "a", "text", text)
		r := &promptReader{log: slog.New(slog.NewJSONHandler(&log, nil))}
		r.line("ready http://x")
		for line := range strings.Lines(lines.String()) {
			line = strings.TrimSuffix(line, "\n")
			if len(line) > child.LongestLine {
				t.Fatalf("a line of %d bytes", len(line))
			}
			r.line(line)
		}
		var got struct{ Msg, ID, Text string }
		d := json.NewDecoder(&log)
		if err := d.Decode(&got); err != nil || got.Msg != "prompt" || got.ID != "a" || got.Text != text {
			t.Errorf("%d: %v, %.100v", n, err, got)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Errorf("%d: more in the log", n)
		}
	}
}
