// Package checkup examines something in stages, each in a process of its own: a crash
// or a hang ends a stage, not the examination. A stage's process writes rows, the one
// that started it prints them and makes a report of bounded size.
package checkup

import (
	"encoding/json"
	"fmt"
	"io"
)

// Kind says what a row is.
type Kind string

// The kinds.
const (
	Fact Kind = "fact" // something found or measured
	Pass Kind = "pass"
	Fail Kind = "fail"
	Skip Kind = "skip" // a check that was not made, and why
	Note Kind = "note" // text for people
	// Now says what is tried next, for when it does not come back.
	Now Kind = "now"
	// Part says that a stage did not end its work: Name is what it has checked, Text what not.
	Part Kind = "part"
	// Use tells the examiner, see Result.Used.
	Use Kind = "use"
	// End is a stage's last row. A process that ends without it has not done its work.
	End Kind = "end"
)

// Row is a line of an examination.
type Row struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// String is the row as it is printed.
func (r Row) String() string {
	switch r.Kind {
	case Pass:
		if r.Text != "" {
			return fmt.Sprintf("%-*s  %s  ok", nameWidth, r.Name, r.Text)
		}
		return fmt.Sprintf("%-*s  ok", nameWidth, r.Name)
	case Fail:
		return fmt.Sprintf("%-*s  FAILED: %s", nameWidth, r.Name, r.Text)
	case Skip:
		return fmt.Sprintf("%-*s  not made: %s", nameWidth, r.Name, r.Text)
	case Note:
		return r.Text
	}
	return fmt.Sprintf("%-*s  %s", nameWidth, r.Name, r.Text)
}

// nameWidth is as wide as most names.
const nameWidth = 28

// Writer writes the rows of a stage, for the process that started this one. It is
// not for several goroutines.
type Writer struct {
	w      io.Writer
	failed int
	err    error
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes a row at once: the next step may not come back.
func (w *Writer) Write(kind Kind, name, format string, args ...any) {
	if kind == Fail {
		w.failed++
	}
	line, err := json.Marshal(Row{kind, name, fmt.Sprintf(format, args...)})
	if err == nil {
		_, err = w.w.Write(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Failed is how many checks failed.
func (w *Writer) Failed() int { return w.failed }

// Err is the first error in writing.
func (w *Writer) Err() error { return w.err }

// parse reads a row. What is none is text that something else has printed.
func parse(line []byte) (r Row) {
	if json.Unmarshal(line, &r) != nil || r.Kind == "" {
		return Row{Kind: Note, Text: string(line)}
	}
	return r
}
