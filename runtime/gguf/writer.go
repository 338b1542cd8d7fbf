package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"mla/runtime/quant"
	"mla/runtime/system/atomicfile"
)

// TensorInfo describes a tensor to be written.
type TensorInfo struct {
	Name string
	Type quant.Type
	Dims []uint64 // GGUF order: Dims[0] is contiguous
}

// Writer streams a version 3 file to disk. The tensors' data must be written in the order in which they were
// announced. The data goes to a temporary file, which gets its name only when Close succeeds.
type Writer struct {
	path      string
	alignment uint64
	tensors   []TensorInfo
	next      int // index of the tensor to be written next

	file *atomicfile.File // nil after Close and Abort
	buf  *bufio.Writer
	err  error // of an earlier write; the file cannot be continued after it
}

// NewWriter begins a file and writes its header. The alignment is the value of
// general.alignment in meta, by default 32. The caller must end with Close or
// Abort; calling Abort after Close does nothing, so it can be deferred.
func NewWriter(path string, meta []KV, tensors []TensorInfo) (*Writer, error) {
	h, err := newHeader(meta, tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head, _ := h.encode()
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, alignment: h.alignment, tensors: tensors, file: file, buf: bufio.NewWriterSize(file, 1<<20)}
	if _, err := w.buf.Write(head); err != nil {
		w.Abort()
		return nil, fmt.Errorf("%s: header: %w", path, err)
	}
	return w, nil
}

// WriteTensor writes the data of the next tensor. name must be its name, as a check. write must write exactly
// the tensor's size to its argument.
func (w *Writer) WriteTensor(name string, write func(io.Writer) error) error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.writeTensor(name, write); w.err != nil {
		w.err = fmt.Errorf("%s: tensor %q: %w", w.path, name, w.err)
	}
	return w.err
}

func (w *Writer) writeTensor(name string, write func(io.Writer) error) error {
	if w.next == len(w.tensors) {
		return errors.New("all tensors have been written")
	}
	t := w.tensors[w.next]
	if t.Name != name {
		return fmt.Errorf("is out of order; tensor %q comes next", t.Name)
	}
	size, err := dataSize(t.Type, t.Dims)
	if err != nil {
		return err
	}
	out := &exactWriter{w: w.buf, left: size}
	if err := write(out); err != nil {
		return err
	}
	if out.left > 0 {
		return fmt.Errorf("got %d bytes; expected %d", size-out.left, size)
	}
	w.next++
	return pad(w.buf, size, w.alignment)
}

// Close completes the file, syncs it to disk and gives it its name. If anything is missing or fails, no file
// remains.
func (w *Writer) Close() error {
	if w.file == nil {
		return fmt.Errorf("%s: writer is closed", w.path)
	}
	defer w.Abort()
	if w.err != nil {
		return w.err
	}
	if w.next < len(w.tensors) {
		return fmt.Errorf("%s: tensor %q has not been written", w.path, w.tensors[w.next].Name)
	}
	if err := w.buf.Flush(); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort removes what was written, unless Close has succeeded.
func (w *Writer) Abort() {
	if w.file != nil {
		w.file.Abort()
		w.file = nil
	}
}

// exactWriter refuses to write more than left bytes.
type exactWriter struct {
	w    io.Writer
	left uint64
}

func (e *exactWriter) Write(b []byte) (int, error) {
	if uint64(len(b)) > e.left {
		return 0, fmt.Errorf("data is longer than expected, by %d bytes or more", uint64(len(b))-e.left)
	}
	n, err := e.w.Write(b)
	e.left -= uint64(n)
	return n, err
}

// pad writes the zeros that pad size bytes to a multiple of align.
func pad(w io.Writer, size, align uint64) error {
	var zeros [4096]byte
	for n := padded(size, align) - size; n > 0; {
		chunk := min(n, uint64(len(zeros)))
		if _, err := w.Write(zeros[:chunk]); err != nil {
			return err
		}
		n -= chunk
	}
	return nil
}

// header is everything before the tensor data.
type header struct {
	version   uint32
	alignment uint64
	meta      []KV
	tensors   []TensorInfo
}

// Bounds on a file, so that offsets with their padding fit an int64, and the header's padding fits memory.
const (
	maxData           = 1 << 60 // bytes of all tensors
	maxWriteAlignment = 1 << 20
)

// newHeader makes the checks of the reader.
func newHeader(meta []KV, tensors []TensorInfo) (*header, error) {
	h := &header{version: 3, alignment: defaultAlignment, meta: meta, tensors: tensors}
	keys := map[string]bool{}
	for _, kv := range meta {
		if keys[kv.Key] || len(kv.Key) > maxKeyLen {
			return nil, fmt.Errorf("key %q appears twice or is too long", kv.Key)
		}
		keys[kv.Key] = true
		if kv.Key == alignmentKey {
			a, err := checkAlignment(kv.Value)
			if err != nil {
				return nil, err
			}
			if a > maxWriteAlignment {
				return nil, fmt.Errorf("key %q is %d; at most %d is written", alignmentKey, a, maxWriteAlignment)
			}
			h.alignment = a
		}
	}
	names := map[string]bool{}
	total := uint64(0)
	for _, t := range tensors {
		if names[t.Name] || len(t.Name) > maxNameLen || len(t.Dims) > maxDims {
			return nil, fmt.Errorf("tensor %q appears twice, has more than %d dimensions or a name longer than %d bytes", t.Name, maxDims, maxNameLen)
		}
		names[t.Name] = true
		size, err := dataSize(t.Type, t.Dims)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if size == 0 {
			return nil, fmt.Errorf("tensor %q: unknown type %d", t.Name, uint32(t.Type))
		}
		if total += size; total > maxData {
			return nil, fmt.Errorf("tensor %q: the tensors up to this one take too many bytes", t.Name)
		}
	}
	return h, nil
}

// EncodeHeader returns a file's header and the size of the file with its tensors' data: the arguments of
// ParseHeader for a file that does not exist.
func EncodeHeader(meta []KV, tensors []TensorInfo) (head []byte, size int64, err error) {
	h, err := newHeader(meta, tensors)
	if err != nil {
		return nil, 0, err
	}
	head, data := h.encode()
	return head, int64(len(head)) + int64(data), nil
}

// encode returns the header, padded to the beginning of the data section, and the size of the data section.
func (h *header) encode() (head []byte, data uint64) {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, h.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(h.tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(h.meta)))
	for _, kv := range h.meta {
		b = appendValue(appendString(b, kv.Key), kv.Value)
	}
	offset := uint64(0)
	for _, t := range h.tensors {
		b = appendString(b, t.Name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			b = binary.LittleEndian.AppendUint64(b, d)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(t.Type))
		b = binary.LittleEndian.AppendUint64(b, offset)
		size, _ := dataSize(t.Type, t.Dims) // newHeader has checked it
		offset += padded(size, h.alignment)
	}
	return append(b, make([]byte, padded(uint64(len(b)), h.alignment)-uint64(len(b)))...), offset
}
