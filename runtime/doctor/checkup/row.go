// Package checkup examines a device in stages, each in its own process: a crash or a hang ends a stage, but
// not the examination. The process of a stage writes rows. The process that started it prints them and builds
// a report of bounded size.
package checkup

import (
	"encoding/json"
	"fmt"
	"io"
)

// Kind is the kind of a row.
type Kind string

// The kinds.
const (
	Fact Kind = "fact" // a property or a measurement
	Pass Kind = "pass"
	Fail Kind = "fail"
	Skip Kind = "skip" // a check that was skipped, and the reason
	Note Kind = "note" // text for the user
	// Now names the next attempt, in case that it does not return.
	Now Kind = "now"
	// Part says that a stage has not finished: Name is what it has checked, Text what it has not.
	Part Kind = "part"
	// Use is a message to the examiner, see Result.Used.
	Use Kind = "use"
	// End is the last row of a stage. A process that ends without it has not finished.
	End Kind = "end"
)

// Row is one line of an examination.
type Row struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// String returns the row as it is printed.
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

// nameWidth is the column width of names; most names fit.
const nameWidth = 28

// Writer writes the rows of a stage to the process that started this one. It must not be used by several
// goroutines at once.
type Writer struct {
	w      io.Writer
	failed int
	err    error
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes a row at once, without a buffer: the next step may not return.
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

// Failed returns the number of failed checks.
func (w *Writer) Failed() int { return w.failed }

// Err returns the first error of writing.
func (w *Writer) Err() error { return w.err }

// parse reads a row. A line that is not a row becomes a Note: other code has printed it.
func parse(line []byte) (r Row) {
	if json.Unmarshal(line, &r) != nil || r.Kind == "" {
		return Row{Kind: Note, Text: string(line)}
	}
	return r
}
