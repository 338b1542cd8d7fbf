// Package output wraps the text that a program prints at words, and keeps errors of writing.
package output

import "io"

// Writer passes on what is written and keeps the first error. So a program that prints line by line can check
// once, at its end, whether all of the output has arrived.
type Writer struct {
	To  io.Writer
	Err error // the first error
}

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	n, err := w.To.Write(text)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}
