// Package gguf reads and writes GGUF model files, versions 2 and 3.
//
// [Open] maps a file read-only and checks its whole header before it returns:
// every length, count, type, dimension and offset, so that a [Tensor]'s Data
// can be used without further checks. A file that breaks a rule yields an error
// that names the key or the tensor; it never panics, and it never makes the
// reader allocate more than a small multiple of the bytes really present.
//
// Values and tensor data are views of the mapping. The typed getters of [File]
// return copies, which outlive it; [Value] and Tensor.Data do not.
//
// [ReadHParams] turns the metadata of a model with multi-head latent attention
// into hyper-parameters, and [Writer] streams a new file to disk.
package gguf

import (
	"errors"
	"fmt"
)

// File is an open GGUF file, or all shards of a split one as if they were a single file.
type File struct {
	Path      string   // as given to Open or Parse
	Version   uint32   // 2 or 3
	Alignment uint64   // of tensor data, in bytes
	Meta      []KV     // in file order; of the first shard of a split model
	Tensors   []Tensor // in file order, shard by shard
	Shards    []Shard  // at least one

	keys  map[string]int // key -> index in Meta
	names map[string]int // tensor name -> index in Tensors
}

// KV is one metadata entry.
type KV struct {
	Key   string
	Value Value
}

// Shard is one file of a model: the only one, unless the model is split.
type Shard struct {
	Path string
	Data []byte // the whole file

	mapped bool // Data must be unmapped by Close
}

// Open maps the file at path and parses it. If it is any shard of a split model, all shards next to it are
// opened, too. If another program truncates the file while it is open, reads fail as described at Guard and
// Fault.
func Open(path string) (*File, error) {
	f, err := openShard(path)
	if err != nil {
		return nil, err
	}
	part, err := f.splitPart()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if part.count <= 1 {
		return f, nil
	}
	return openSplit(f, part)
}

// Parse parses a file in memory; name is used in messages. It does not look for other shards of a split
// model.
func Parse(name string, data []byte) (*File, error) {
	return parse(Shard{Path: name, Data: data})
}

// ParseHeader parses the beginning of a file with size bytes: the keys, and the tensors without data. It
// returns ErrShort if it needs a longer beginning.
func ParseHeader(name string, head []byte, size int64) (*File, error) {
	if int64(len(head)) > size {
		return nil, fmt.Errorf("%s: %d bytes of a file of %d", name, len(head), size)
	}
	return parseHead(Shard{Path: name, Data: head}, uint64(size))
}

// Join makes one file of the parts of a split one, in order. The result equals that of Open, except for data
// that the parts lack.
func Join(name string, parts []*File) (*File, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	return merge(name, parts)
}

// Close unmaps the file. Values and tensor data must not be used afterwards.
func (f *File) Close() error {
	var errs []error
	for _, s := range f.Shards {
		if s.mapped {
			if err := unmapFile(s.Data); err != nil {
				errs = append(errs, fmt.Errorf("%s: unmap: %w", s.Path, err))
			}
		}
	}
	*f = File{Path: f.Path}
	return errors.Join(errs...)
}

// Mapped says whether the shards are mapped files, as from Open: each begins at a multiple of MapAlign, and
// no other memory lies between its end and the next multiple.
func (f *File) Mapped() bool {
	for _, s := range f.Shards {
		if !s.mapped {
			return false
		}
	}
	return true
}

// Prefetch asks the operating system to read the whole model into memory.
func (f *File) Prefetch() error {
	for _, s := range f.Shards {
		if s.mapped {
			if err := prefetch(s.Data); err != nil {
				return fmt.Errorf("%s: prefetch: %w", s.Path, err)
			}
		}
	}
	return nil
}

// Set replaces or adds the value of a key, when the user knows it better than the file. The file on disk does
// not change.
func (f *File) Set(key string, v Value) {
	if i, ok := f.keys[key]; ok {
		f.Meta[i].Value = v
		return
	}
	f.keys[key] = len(f.Meta)
	f.Meta = append(f.Meta, KV{key, v})
}

// Lookup returns the metadata value stored under key.
func (f *File) Lookup(key string) (Value, bool) {
	i, ok := f.keys[key]
	if !ok {
		return Value{}, false
	}
	return f.Meta[i].Value, true
}
