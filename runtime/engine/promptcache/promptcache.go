// Package promptcache keeps the latent cache of a prompt in a file, so that a later run need not run the
// prompt again. It reads and writes files; runtime/engine moves pages from and to the device.
//
// A file is a recordfile with one record per page: [layers][plan.PageRows] cache rows, as device.Runner reads
// them. Rows after the last token are zero. If sessions have a state (device.Stateful), the state after all
// tokens follows, cut into records.
package promptcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/system/recordfile"
)

var kind = recordfile.Kind{Magic: [8]byte([]byte("MLAPAGES")), Version: 2, Name: "a prompt cache", Each: plan.PageRows * tokenBytes}

// tokenBytes is the greatest length of a token with its comma in a header.
const tokenBytes = len("-2147483648,")

// Key is everything that cache rows depend on, beside the tokens.
type Key struct {
	File    string      `json:"file"`    // engine.FileKey
	Bundle  string      `json:"bundle"`  // its name
	Kernels string      `json:"kernels"` // a hash of the compiled kernels
	KV      string      `json:"kv"`      // type of the cache
	Layers  int         `json:"layers"`  // of the model
	Planes  plan.Planes `json:"planes"`  // layout of one layer's page

	State int `json:"state,omitempty"` // bytes of a session's state; 0: the model has none

	// Scope is the scope of requests that may use the file. Rows do not depend on it, so a file opens with
	// any scope, and File.Scope says which one it has.
	Scope string `json:"scope,omitempty"`
}

// PageBytes is the size of a page over all layers.
func (k *Key) PageBytes() int { return k.Layers * plan.PageRows * k.Planes.RowBytes() }

// stateRecords is how many records a state takes.
func (k *Key) stateRecords() int {
	if k.State == 0 {
		return 0
	}
	return (k.State-1)/k.PageBytes() + 1
}

// differs says why rows that were saved under another key cannot be used.
func (k *Key) differs(saved *Key) string {
	switch {
	case saved.File != k.File:
		return "it was made with another model file, or before that was changed"
	case saved.Bundle != k.Bundle:
		return fmt.Sprintf("it was made with bundle %s; this is %s", saved.Bundle, k.Bundle)
	case saved.KV != k.KV:
		return fmt.Sprintf("it has a cache of type %s; this is %s", saved.KV, k.KV)
	case saved.Layers != k.Layers:
		return fmt.Sprintf("it has rows of %d layers; here there are %d (-draft mtp adds one)", saved.Layers, k.Layers)
	case saved.State != k.State, saved.Kernels != k.Kernels, !slices.Equal(saved.Planes, k.Planes):
		return "it was made with other kernels of the bundle"
	}
	return ""
}

type header struct {
	Key
	Rows   int     `json:"rows"`   // of a page
	Tokens []int32 `json:"tokens"` // of the prompt; each has one cache row
}

// File is an open prompt cache.
type File struct {
	Tokens []int32 // of the prompt
	Scope  string  // Key.Scope
	file   *recordfile.File
	state  int // bytes of the state
}

// Open opens a file that was written with the same key. It returns a *recordfile.DamagedError for a file that
// cannot be used, a *recordfile.NotOursError for a file of another kind, and fs.ErrNotExist if there is none.
func Open(path string, k Key) (*File, error) {
	var h header
	ours := kind
	ours.Record = k.PageBytes()
	f, err := recordfile.Open(path, ours, &h)
	if err != nil {
		return nil, err
	}
	reason := k.differs(&h.Key)
	if reason == "" && (h.Rows != plan.PageRows || f.RecordBytes() != k.PageBytes() || f.Records() != plan.Pages(len(h.Tokens))+k.stateRecords()) {
		reason = fmt.Sprintf("%d pages of %d rows and %d bytes for %d tokens", f.Records(), h.Rows, f.RecordBytes(), len(h.Tokens))
	}
	if reason != "" {
		return nil, errors.Join(&recordfile.DamagedError{Path: path, Reason: reason}, f.Close())
	}
	return &File{h.Tokens, h.Scope, f, k.State}, nil
}

// Pages calls visit with the pages from … to-1 in order; see recordfile.File.Each.
func (f *File) Pages(ctx context.Context, from, to int, visit func(i int, page []byte) error) error {
	return f.file.Each(ctx, from, to, visit)
}

// State is the state after all tokens; nil: sessions have none.
func (f *File) State(ctx context.Context) (state []byte, err error) {
	if f.state == 0 {
		return nil, nil
	}
	pages := plan.Pages(len(f.Tokens))
	err = f.file.Each(ctx, pages, f.file.Records(), func(_ int, record []byte) error {
		state = append(state, record[:min(len(record), f.state-len(state))]...)
		return nil
	})
	return state, err
}

// PageBytes is the size of a page.
func (f *File) PageBytes() int { return f.file.RecordBytes() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Check fails if a file cannot be written to path, because its folder does not exist or the path has a file
// that is not a prompt cache.
func Check(path string) error {
	if err := recordfile.Replaceable(path, kind); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

// Write replaces the file at path by the pages of tokens, atomically. It calls read for each page in order,
// with memory of the page's size. state is the state after the tokens, of Key.State bytes.
func Write(ctx context.Context, path string, k Key, tokens []int32, state []byte, read func(i int, page []byte) error) error {
	if k.Layers < 1 || len(k.Planes) < 1 || slices.Min(k.Planes) < 1 {
		return fmt.Errorf("planes of %d bytes a row for %d layers", k.Planes, k.Layers)
	}
	if len(state) != k.State {
		return fmt.Errorf("a state of %d bytes; expected %d", len(state), k.State)
	}
	pages := plan.Pages(len(tokens))
	w, err := recordfile.Create(path, kind, header{k, plan.PageRows, tokens}, pages+k.stateRecords(), k.PageBytes())
	if err != nil {
		return err
	}
	defer w.Abort()
	page := make([]byte, k.PageBytes())
	for i := range pages {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := read(i, page); err != nil {
			return err
		}
		k.clear(page, len(tokens)-i*plan.PageRows)
		if err := w.Write(page); err != nil {
			return err
		}
	}
	for piece := range slices.Chunk(state, len(page)) {
		clear(page[copy(page, piece):])
		if err := w.Write(page); err != nil {
			return err
		}
	}
	return w.Commit()
}

// clear zeroes the rows of a page after the first n, as they may belong to another session.
func (k *Key) clear(page []byte, n int) {
	n = min(n, plan.PageRows)
	for layer := range slices.Chunk(page, len(page)/k.Layers) {
		for at, bytes := range k.Planes.Rows(n, plan.PageRows-n) {
			clear(layer[at : at+bytes])
		}
	}
}
