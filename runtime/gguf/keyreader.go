package gguf

import (
	"fmt"
	"slices"

	"mla/runtime/gguf/hparams"
)

// keyReader reads the keys of one architecture. It keeps the first error, and returns zeros after it, so that
// callers need not check every key.
type keyReader struct {
	f    *File
	arch string // general.architecture, the prefix of the keys
	of   Architecture
	err  error

	swapped bool // see dialect
}

func (r *keyReader) key(name string) string { return r.arch + "." + name }

func (r *keyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.f.Path, fmt.Errorf(format, args...))
	}
}

func (r *keyReader) failKey(name, format string, args ...any) {
	r.fail("key %q %w", r.key(name), fmt.Errorf(format, args...))
}

// optional reads a key with one of the File's getters. It returns def for a missing key and after an error.
func optional[T any](r *keyReader, key string, def T, get func(string) (T, bool, error)) T {
	if r.err != nil {
		return def
	}
	v, ok, err := get(key)
	if err != nil {
		r.err = err // the error names the file and the key
	}
	if err != nil || !ok {
		return def
	}
	return v
}

// dim reads an integer from lo to hi; def, for a missing key, may be outside of that range.
func (r *keyReader) dim(name string, def, lo, hi int) int {
	if _, ok := r.f.Lookup(r.key(name)); !ok || r.err != nil {
		return def
	}
	v := optional(r, r.key(name), 0, r.count)
	if v < uint64(lo) || v > uint64(hi) {
		r.failKey(name, "is %d; expected %d to %d", v, lo, hi)
	}
	if r.err != nil {
		return 0
	}
	return int(v)
}

// count reads an integer, or an array of equal integers, which some converters write with one number per
// layer.
func (r *keyReader) count(key string) (uint64, bool, error) {
	v, ok := r.f.Lookup(key)
	if !ok || v.kind != KindArray || !isInteger(v.elem) {
		return r.f.Uint(key)
	}
	list, err := v.Ints()
	blocks, _, _ := r.f.Uint(r.key("block_count"))
	switch {
	case err != nil:
	case len(list) == 0 || uint64(len(list)) != blocks:
		err = fmt.Errorf("has %d numbers; expected one, or one for each of the %d layers", len(list), blocks)
	case slices.ContainsFunc(list, func(n int64) bool { return n != list[0] }):
		err = fmt.Errorf("is %s, which differ; expected the same for all layers", v)
	case list[0] < 0:
		err = fmt.Errorf("is %s; expected non-negative integers", v)
	default:
		return uint64(list[0]), true, nil
	}
	return 0, true, fmt.Errorf("%s: key %q: %w", r.f.Path, key, err)
}

// float reads a float from lo to hi. The comparisons are false for NaN.
func (r *keyReader) float(name string, def, lo, hi float64) float64 {
	if _, ok := r.f.Lookup(r.key(name)); !ok || r.err != nil {
		return def
	}
	v := optional(r, r.key(name), 0, r.f.Float)
	if !(v >= lo && v <= hi) {
		r.failKey(name, "is %g; expected %g to %g", v, lo, hi)
	}
	return v
}

// need is dim for a key that must exist.
func (r *keyReader) need(name string, lo, hi int) int {
	r.require(name)
	return r.dim(name, 0, lo, hi)
}

// needFloat is float for a key that must exist.
func (r *keyReader) needFloat(name string, lo, hi float64) float64 {
	r.require(name)
	return r.float(name, 0, lo, hi)
}

// needs reads fields of a *hparams.Dims or *hparams.MoE, with the keys and ranges of their tags.
func (r *keyReader) needs(of any, names ...string) {
	for _, p := range hparams.Parameters(of, names...) {
		switch v := p.Value.(type) {
		case *int:
			*v = r.need(p.Key, int(p.Lo), int(p.Hi))
		case *float64:
			*v = r.needFloat(p.Key, p.Lo, p.Hi)
		}
	}
}

func (r *keyReader) require(name string) {
	if _, ok := r.f.Lookup(r.key(name)); !ok {
		r.failKey(name, "is missing")
	}
}

func (r *keyReader) hasTensor(name string) bool {
	_, ok := r.f.Tensor(name)
	return ok
}

func (r *keyReader) needTensor(name, why string) {
	if !r.hasTensor(name) {
		r.fail("tensor %q is missing, %s", name, why)
	}
}
