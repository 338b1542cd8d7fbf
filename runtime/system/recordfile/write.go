package recordfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"mla/runtime/system/atomicfile"
)

// Writer writes a file. Until Commit, the old file at the path is unchanged.
type Writer struct {
	file   *atomicfile.File
	path   string
	sizes  sizes
	header uint32 // checksum of the header
	next   int    // number of the next record
}

// Create begins a file with a number of records, whose header is written as JSON. It replaces an empty file,
// or one of the same kind, damaged or not. It returns *NotOursError for any other file. The caller must end
// with Commit or Abort; Abort after Commit does nothing.
func Create(path string, k Kind, header any, records, recordBytes int) (*Writer, error) {
	if err := Replaceable(path, k); err != nil {
		return nil, err
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	if records < 0 || recordBytes < 0 || recordBytes > maxRecord || uint64(len(text)) > k.mostHeader(uint64(records), uint64(recordBytes)) {
		return nil, fmt.Errorf("%s: a header of %d bytes and %d records of %d are more than such a file can hold", path, len(text), records, recordBytes)
	}
	file, err := atomicfile.CreatePrivate(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, path: path, sizes: sizes{k.Version, len(text), records, recordBytes}}
	front := append(w.sizes.encode(k), text...)
	w.header = crc32.Checksum(front, castagnoli)
	if _, err := file.Write(binary.LittleEndian.AppendUint32(front, w.header)); err != nil {
		file.Abort()
		return nil, err
	}
	return w, nil
}

// Replaceable returns *NotOursError if there is a file of another kind.
func Replaceable(path string, k Kind) error {
	file, err := open(path, k)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	ours, err := begins(file, k)
	if err == nil && !ours {
		err = &NotOursError{path, k.Name}
	}
	return err
}

// begins says whether a file begins with the magic of a kind, or with a part of it if the file is shorter.
func begins(r io.ReaderAt, k Kind) (bool, error) {
	var magic [len(k.Magic)]byte
	n, err := r.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(magic[:n]) == string(k.Magic[:n]), nil
}

// Write appends the next record.
func (w *Writer) Write(record []byte) error {
	if len(record) != w.sizes.recordBytes || w.next == w.sizes.records {
		return fmt.Errorf("%s: record %d of %d bytes; expected %d of %d", w.path, w.next, len(record), w.sizes.records, w.sizes.recordBytes)
	}
	if _, err := w.file.Write(record); err != nil {
		return err
	}
	var end [sumBytes]byte
	binary.LittleEndian.PutUint32(end[:], sum(w.header, w.next, record))
	w.next++
	_, err := w.file.Write(end[:])
	return err
}

// Commit gives the complete file its name. It fails if records are missing.
func (w *Writer) Commit() error {
	if w.next < w.sizes.records {
		w.Abort()
		return fmt.Errorf("%s: %d of %d records are missing", w.path, w.sizes.records-w.next, w.sizes.records)
	}
	return w.file.Commit()
}

// Abort drops the file, unless it is complete.
func (w *Writer) Abort() { w.file.Abort() }
