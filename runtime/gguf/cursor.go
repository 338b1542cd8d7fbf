package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxArrayDepth bounds nested arrays. No known file has any.
const maxArrayDepth = 8

// cursor decodes the little-endian fields of a header. It never reads beyond data and never allocates: its
// results are views.
type cursor struct {
	data []byte // the file or its beginning
	size uint64 // of the whole file
	off  int    // 0 <= off <= len(data)
}

func newCursor(data []byte) cursor { return cursor{data: data, size: uint64(len(data))} }

func (c *cursor) left() uint64 { return c.size - uint64(c.off) }

// ErrShort says that the header continues after the bytes that were given.
var ErrShort = errors.New("the header is longer than what is there of it")

// take returns the next n bytes.
func (c *cursor) take(n uint64) ([]byte, error) {
	if n > c.left() {
		return nil, fmt.Errorf("needs %d bytes at offset %d, but the file ends at %d", n, c.off, c.size)
	}
	if n > uint64(len(c.data)-c.off) {
		return nil, ErrShort
	}
	start := c.off
	c.off += int(n)
	return c.data[start:c.off:c.off], nil
}

func (c *cursor) u32() (uint32, error) {
	b, err := c.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64() (uint64, error) {
	b, err := c.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number of items of at least size bytes each, and checks that the file is large enough for
// them, so that a count can be trusted.
func (c *cursor) count(size int) (int, error) {
	n, err := c.u64()
	if err != nil {
		return 0, err
	}
	if most := c.left() / uint64(size); n > most {
		return 0, fmt.Errorf("count %d at offset %d is too large: the rest of the file has room for %d at most", n, c.off-8, most)
	}
	return int(n), nil
}

func (c *cursor) bytes() ([]byte, error) {
	n, err := c.u64()
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

func (c *cursor) kind() (Kind, error) {
	u, err := c.u32()
	if err != nil {
		return 0, err
	}
	if k := Kind(u); k.valid() {
		return k, nil
	}
	return 0, fmt.Errorf("unknown value type %d at offset %d; the types are 0 to %d", u, c.off-4, len(kinds)-1)
}

// value reads a value of the given kind, inside depth arrays.
func (c *cursor) value(kind Kind, depth int) (Value, error) {
	var (
		v   = Value{kind: kind}
		err error
	)
	switch kind {
	case KindString:
		v.raw, err = c.bytes()
	case KindArray:
		return c.array(depth + 1)
	default:
		if v.raw, err = c.take(uint64(kinds[kind].size)); err == nil && kind == KindBool {
			err = checkBools(v.raw)
		}
	}
	return v, err
}

// array reads an array to its end, and keeps its elements encoded.
func (c *cursor) array(depth int) (Value, error) {
	if depth > maxArrayDepth {
		return Value{}, fmt.Errorf("arrays are nested more than %d deep at offset %d", maxArrayDepth, c.off)
	}
	elem, err := c.kind()
	if err != nil {
		return Value{}, fmt.Errorf("array element type: %w", err)
	}
	n, err := c.count(kinds[elem].size)
	if err != nil {
		return Value{}, fmt.Errorf("array length: %w", err)
	}
	start := c.off
	if err := c.elements(elem, n, depth); err != nil {
		return Value{}, err
	}
	return Value{kind: KindArray, elem: elem, n: n, raw: c.data[start:c.off:c.off]}, nil
}

func (c *cursor) elements(elem Kind, n, depth int) error {
	if elem != KindString && elem != KindArray {
		raw, err := c.take(uint64(n) * uint64(kinds[elem].size)) // count has checked n, so this does not overflow
		if err == nil && elem == KindBool {
			err = checkBools(raw)
		}
		return err
	}
	for i := range n {
		if _, err := c.value(elem, depth); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func checkBools(raw []byte) error {
	for _, b := range raw {
		if b > 1 {
			return fmt.Errorf("bool has the value %d; expected 0 or 1", b)
		}
	}
	return nil
}
