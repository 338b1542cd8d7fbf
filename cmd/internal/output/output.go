// Package output wraps what a program prints at words, and keeps the errors of writing it.
package output

import "io"

// Writer passes on what is written and keeps the first error, so that a program that
// prints line by line can ask once, at its end, whether all of it has arrived.
type Writer struct {
	To  io.Writer
	Err error // the first
}

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	n, err := w.To.Write(text)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}
