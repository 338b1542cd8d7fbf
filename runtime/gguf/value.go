package gguf

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Value is a metadata value. It keeps the encoded bytes, usually as a view of the mapped file, and decodes
// them on demand: a vocabulary of 150,000 strings costs nothing until Strings is called, and then two
// allocations. The zero Value is not valid; values come from a File or from a constructor such as Uint32.
type Value struct {
	kind Kind
	elem Kind   // of an array's elements
	n    int    // number of an array's elements
	raw  []byte // the little-endian scalar, the string's bytes, or the array's encoded elements
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// Elem returns the type of an array's elements.
func (v Value) Elem() Kind { return v.elem }

// Len returns the number of an array's elements.
func (v Value) Len() int { return v.n }

// Type describes the type of the value as text, such as "uint32" or
// "array of string".
func (v Value) Type() string {
	if v.kind == KindArray {
		return "array of " + v.elem.String()
	}
	return v.kind.String()
}

func (v Value) mismatch(want string) error {
	return fmt.Errorf("is %s; expected %s", v.Type(), want)
}

// number returns the i-th number of raw, each of the given kind, sign-extended.
func number(raw []byte, kind Kind, i int) uint64 {
	size := kinds[kind].size
	var buf [8]byte
	copy(buf[:], raw[i*size:(i+1)*size])
	u := binary.LittleEndian.Uint64(buf[:])
	if kinds[kind].class == classSigned {
		shift := 64 - 8*size
		return uint64(int64(u<<shift) >> shift)
	}
	return u
}

func float(raw []byte, kind Kind, i int) float64 {
	u := number(raw, kind, i)
	if kind == KindFloat32 {
		return float64(math.Float32frombits(uint32(u)))
	}
	return math.Float64frombits(u)
}

func isInteger(k Kind) bool { return kinds[k].class == classUnsigned || kinds[k].class == classSigned }

// Uint returns a non-negative integer of any width.
func (v Value) Uint() (uint64, error) {
	if !isInteger(v.kind) {
		return 0, v.mismatch("an unsigned integer")
	}
	u := number(v.raw, v.kind, 0)
	if kinds[v.kind].class == classSigned && int64(u) < 0 {
		return 0, fmt.Errorf("is %d; expected a non-negative integer", int64(u))
	}
	return u, nil
}

// Float returns a float32 or float64.
func (v Value) Float() (float64, error) {
	if kinds[v.kind].class != classFloat {
		return 0, v.mismatch("a float")
	}
	return float(v.raw, v.kind, 0), nil
}

// Bool returns a boolean.
func (v Value) Bool() (bool, error) {
	if v.kind != KindBool {
		return false, v.mismatch("a bool")
	}
	return v.raw[0] != 0, nil
}

// Text returns a string. (String formats any value.)
func (v Value) Text() (string, error) {
	if v.kind != KindString {
		return "", v.mismatch("a string")
	}
	return string(v.raw), nil
}

// Strings returns an array of strings, which share one copy of their bytes.
func (v Value) Strings() ([]string, error) {
	if v.kind != KindArray || v.elem != KindString {
		return nil, v.mismatch("array of string")
	}
	all := string(v.raw)
	out := make([]string, v.n)
	pos := 0
	for i := range out {
		length := int(binary.LittleEndian.Uint64(v.raw[pos:]))
		pos += 8
		out[i] = all[pos : pos+length]
		pos += length
	}
	return out, nil
}

// Ints returns an array of integers of any width.
func (v Value) Ints() ([]int64, error) {
	if v.kind != KindArray || !isInteger(v.elem) {
		return nil, v.mismatch("array of integers")
	}
	out := make([]int64, v.n)
	for i := range out {
		u := number(v.raw, v.elem, i)
		if v.elem == KindUint64 && u > math.MaxInt64 {
			return nil, fmt.Errorf("element %d is %d, above the largest int64", i, u)
		}
		out[i] = int64(u)
	}
	return out, nil
}

// Floats returns an array of float32 or float64.
func (v Value) Floats() ([]float64, error) {
	if v.kind != KindArray || kinds[v.elem].class != classFloat {
		return nil, v.mismatch("array of floats")
	}
	out := make([]float64, v.n)
	for i := range out {
		out[i] = float(v.raw, v.elem, i)
	}
	return out, nil
}

// All iterates over the elements of an array, which may be arrays themselves.
func (v Value) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		c := newCursor(v.raw)
		for i := range v.n {
			e, err := c.value(v.elem, 0)
			if err != nil || !yield(i, e) { // err is nil, as the parser has checked the encoding
				return
			}
		}
	}
}

// shownElems is how many elements of an array String prints.
const shownElems = 4

// String formats the value for people: scalars in full, strings quoted, and the
// first elements of an array with its length.
func (v Value) String() string {
	switch kinds[v.kind].class {
	case classUnsigned:
		return strconv.FormatUint(number(v.raw, v.kind, 0), 10)
	case classSigned:
		return strconv.FormatInt(int64(number(v.raw, v.kind, 0)), 10)
	case classFloat:
		width := 8 * kinds[v.kind].size
		return strconv.FormatFloat(float(v.raw, v.kind, 0), 'g', -1, width)
	case classBool:
		return strconv.FormatBool(v.raw[0] != 0)
	case classString:
		return strconv.Quote(string(v.raw))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d x %s [", v.n, v.elem)
	for i, e := range v.All() {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == shownElems {
			b.WriteString("...")
			break
		}
		b.WriteString(e.String())
	}
	b.WriteByte(']')
	return b.String()
}
