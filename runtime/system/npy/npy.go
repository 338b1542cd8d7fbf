// Package npy reads and writes matrices of float32 in NumPy's NPY format,
// version 1.0, little-endian, in C order.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mla/runtime/system/atomicfile"
)

const magic = "\x93NUMPY\x01\x00"

// align divides the length of the header.
const align = 64

// header is the bytes before the data of a rows × cols matrix.
func header(rows, cols int) []byte {
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	used := len(magic) + 2 + len(dict) + 1
	dict += strings.Repeat(" ", (align-used%align)%align) + "\n"
	out := binary.LittleEndian.AppendUint16([]byte(magic), uint16(len(dict)))
	return append(out, dict...)
}

// Writer writes a matrix to a file row by row. The file gets its name only when Close succeeds.
type Writer struct {
	path       string
	file       *atomicfile.File
	cols, left int // elements per row, rows that are missing
	row        []byte
}

// Create begins a file for a rows × cols matrix. It may replace a file, or the target of a link; it fails for
// a folder or a device.
func Create(path string, rows, cols int) (*Writer, error) {
	file, err := atomicfile.CreatePrivate(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, file: file, cols: cols, left: rows}
	if _, err := file.Write(header(rows, cols)); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// WriteRow appends a row, which must have as many elements as the matrix.
func (w *Writer) WriteRow(row []float32) error {
	if len(row) != w.cols || w.left == 0 {
		return fmt.Errorf("%s: a row of %d elements with %d rows of %d to come", w.path, len(row), w.left, w.cols)
	}
	w.left--
	w.row = w.row[:0]
	for _, x := range row {
		w.row = binary.LittleEndian.AppendUint32(w.row, math.Float32bits(x))
	}
	_, err := w.file.Write(w.row)
	return err
}

// Close completes the file and gives it its name. It fails if rows are missing.
func (w *Writer) Close() error {
	if w.left > 0 {
		w.Abort()
		return fmt.Errorf("%s: %d rows are missing", w.path, w.left)
	}
	return w.file.Commit()
}

// Abort drops the file, unless it is complete.
func (w *Writer) Abort() { w.file.Abort() }

// shape matches the two dimensions in a header.
var shape = regexp.MustCompile(`'shape':\s*\((\d+),\s*(\d+),?\s*\)`)

// Read reads a matrix of float32 that was written by this package or by NumPy.
func Read(r io.Reader) (data []float32, rows, cols int, err error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, 0, err
	}
	const fixed = len(magic) + 2
	if len(all) < fixed || string(all[:len(magic)]) != magic {
		return nil, 0, 0, errors.New("not an NPY file of version 1.0")
	}
	end := fixed + int(binary.LittleEndian.Uint16(all[len(magic):]))
	if end > len(all) {
		return nil, 0, 0, errors.New("the NPY header is cut off")
	}
	dict := all[fixed:end]
	m := shape.FindSubmatch(dict)
	if m == nil || !bytes.Contains(dict, []byte("'<f4'")) || !bytes.Contains(dict, []byte("'fortran_order': False")) {
		return nil, 0, 0, fmt.Errorf("NPY header %q; expected a matrix of '<f4' in C order", bytes.TrimSpace(dict))
	}
	rows, err1 := strconv.Atoi(string(m[1]))
	cols, err2 := strconv.Atoi(string(m[2]))
	body := all[end:]
	if err := errors.Join(err1, err2); err != nil {
		return nil, 0, 0, err
	}
	if n := len(body) / 4; len(body)%4 != 0 || rows < 0 || cols <= 0 && n > 0 || cols > 0 && (n%cols != 0 || n/cols != rows) {
		return nil, 0, 0, fmt.Errorf("%d bytes of data for a matrix of %d × %d float32", len(body), rows, cols)
	}
	data = make([]float32, len(body)/4)
	for i := range data {
		data[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	return data, rows, cols, nil
}
