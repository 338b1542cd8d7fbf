package recordfile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"mla/runtime/system/userfile"
)

// File is an open file with a valid header. It is safe for concurrent use.
type File struct {
	path   string
	from   io.ReaderAt
	closer io.Closer
	sizes  sizes
	header uint32 // checksum of the header
}

// Open opens a file and decodes its header into header, a pointer. It returns errors of os.Open,
// *NotOursError and *DamagedError. Records are checked when they are read.
func Open(path string, k Kind, header any) (*File, error) {
	file, err := open(path, k)
	if err != nil {
		return nil, err
	}
	f, err := openFile(file, path, k, header)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// open opens a regular file.
func open(path string, k Kind) (*os.File, error) {
	file, err := userfile.Open(path)
	if errors.Is(err, userfile.ErrNotRegular) {
		err = &NotOursError{path, k.Name}
	}
	return file, err
}

func openFile(file *os.File, path string, k Kind, header any) (*File, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := parse(file, info.Size(), path, k, header)
	if err == nil {
		f.closer = file
	}
	return f, err
}

// parse reads the header of a file with size bytes.
func parse(from io.ReaderAt, size int64, path string, k Kind, header any) (*File, error) {
	ours, err := begins(from, k)
	switch {
	case err != nil:
		return nil, err
	case !ours:
		return nil, &NotOursError{path, k.Name}
	case size < fixedBytes:
		return nil, &DamagedError{path, fmt.Sprintf("it is cut off after %d bytes", size)}
	}
	front := make([]byte, fixedBytes)
	if _, err := from.ReadAt(front, 0); err != nil {
		return nil, changed(path, err)
	}
	s, reason := decode(front, k, size)
	if reason != "" {
		return nil, &DamagedError{path, reason}
	}
	front = append(front, make([]byte, s.header+sumBytes)...)
	if _, err := from.ReadAt(front, 0); err != nil {
		return nil, changed(path, err)
	}
	f := &File{path: path, from: from, sizes: s, header: crc32.Checksum(front[:fixedBytes+s.header], castagnoli)}
	if binary.LittleEndian.Uint32(front[fixedBytes+s.header:]) != f.header {
		return nil, &DamagedError{path, "the checksum of its header is wrong"}
	}
	if err := json.Unmarshal(front[fixedBytes:fixedBytes+s.header], header); err != nil {
		return nil, &DamagedError{path, "its header: " + err.Error()}
	}
	return f, nil
}

// changed converts the error of a file that has become shorter since it was opened. Other errors stay the
// same.
func changed(path string, err error) error {
	if errors.Is(err, io.EOF) {
		return &DamagedError{path, "it was cut off while it was read"}
	}
	return err
}

// Records is the number of records.
func (f *File) Records() int { return f.sizes.records }

// RecordBytes is the size of a record in bytes.
func (f *File) RecordBytes() int { return f.sizes.recordBytes }

// Path is the path with which the file was opened.
func (f *File) Path() string { return f.path }

// Buffer allocates a buffer for Read.
func (f *File) Buffer() []byte { return make([]byte, f.sizes.recordBytes+sumBytes) }

// Read reads record i into a Buffer, checks its checksum, and returns the record without it. If the checksum
// is wrong, it returns a *DamagedError.
func (f *File) Read(i int, buffer []byte) ([]byte, error) {
	if i < 0 || i >= f.sizes.records {
		return nil, fmt.Errorf("%s: record %d of %d", f.path, i, f.sizes.records)
	}
	n := f.sizes.recordBytes
	buffer = buffer[:n+sumBytes]
	if _, err := f.from.ReadAt(buffer, f.sizes.at(i)); err != nil {
		return nil, changed(f.path, err)
	}
	if binary.LittleEndian.Uint32(buffer[n:]) != sum(f.header, i, buffer[:n]) {
		return nil, &DamagedError{f.path, fmt.Sprintf("the checksum of record %d of %d is wrong", i, f.sizes.records)}
	}
	return buffer[:n], nil
}

// Close closes the file.
func (f *File) Close() error { return f.closer.Close() }
