// Package quant has the block formats in which GGUF files store weights. Each format has a file of its own
// (q4_0.go, q4_k.go, …), which documents its block, decodes and encodes it, and computes its dot product with
// floats. The table in this file lists all formats: a new format needs a file and a line here. Package linalg
// has the CPU's fast products.
package quant

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Type is a ggml tensor type id, as stored in GGUF files.
type Type uint32

// Types that this package supports, with ggml's numbers.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
	Q2_0    Type = 42

	// NVFP4Scaled occurs in no file: loading makes it from an NVFP4 tensor and the factor of all of its
	// weights.
	NVFP4Scaled Type = 1<<16 + 40
)

// formats lists all formats in the order of their type ids.
var formats = []*Format{
	&formatF32,
	&formatF16,
	&formatQ4_0,
	&formatQ4_1,
	&formatQ5_0,
	&formatQ5_1,
	&formatQ8_0,
	&formatQ2_K,
	&formatQ3_K,
	&formatQ4_K,
	&formatQ5_K,
	&formatQ6_K,
	&formatIQ2_XXS,
	&formatIQ2_XS,
	&formatIQ3_XXS,
	&formatIQ1_S,
	&formatIQ4_NL,
	&formatIQ3_S,
	&formatIQ2_S,
	&formatIQ4_XS,
	&formatIQ1_M,
	&formatBF16,
	&formatTQ1_0,
	&formatTQ2_0,
	&formatMXFP4,
	&formatNVFP4,
	&formatQ1_0,
	&formatQ2_0,
	&formatNVFP4Scaled,
}

// Format describes how one type stores numbers: consecutive blocks of
// BlockBytes bytes, each holding BlockElems consecutive elements of a row.
type Format struct {
	Type       Type
	Name       string // lower-case ggml name: "q4_0", "q4_k", …
	BlockElems int
	BlockBytes int

	// Dequantize decodes len(dst) elements from the start of src. len(dst) must
	// be a multiple of BlockElems and src must hold that many blocks.
	Dequantize func(dst []float32, src []byte)

	// Quantize encodes src at the beginning of dst, rounding to nearest. It is for synthetic models and
	// tests, and does not search for the scale with the least error. len(src) must be a multiple of
	// BlockElems.
	Quantize func(dst []byte, src []float32)

	// Dot is the pure Go reference of the inner loops: Σ dequantized(row)[i]·x[i] in
	// float32 over len(x) elements. len(x) must be a multiple of BlockElems.
	Dot func(row []byte, x []float32) float32

	Halves *HalfProducts // nil: kernels multiply in floats
	Book   *CodeBook     // nil: blocks hold numbers, not entries of a code book
	Loaded bool          // made by loading; no file has this format
}

// Formats returns every known format in the order of the type ids.
func Formats() []*Format { return slices.Clone(formats) }

// Lookup returns the format of a ggml type id.
func Lookup(t Type) (*Format, bool) {
	i := slices.IndexFunc(formats, func(f *Format) bool { return f.Type == t })
	if i < 0 {
		return nil, false
	}
	return formats[i], true
}

// InFiles returns the format of a ggml type id that a file may have.
func InFiles(t Type) (*Format, bool) {
	f, ok := Lookup(t)
	return f, ok && !f.Loaded
}

// ByName returns the format with a ggml name, in any letter case.
func ByName(name string) (*Format, bool) {
	i := slices.IndexFunc(formats, func(f *Format) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil, false
	}
	return formats[i], true
}

// String returns the lower-case ggml name, or "type N" for an unknown id.
func (t Type) String() string {
	if f, ok := Lookup(t); ok {
		return f.Name
	}
	if name := foreign[t]; name != "" {
		return strings.ToLower(name)
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// RowBytes returns the size of a row of elems elements. It fails when elems is
// negative, is not a whole number of blocks, or the size overflows an int.
func (f *Format) RowBytes(elems int) (int, error) {
	if elems < 0 || elems%f.BlockElems != 0 {
		return 0, fmt.Errorf("%s: a row of %d elements is not a whole number of blocks of %d", f.Name, elems, f.BlockElems)
	}
	blocks := elems / f.BlockElems
	if blocks > math.MaxInt/f.BlockBytes {
		return 0, fmt.Errorf("%s: the size of a row of %d elements overflows", f.Name, elems)
	}
	return blocks * f.BlockBytes, nil
}
