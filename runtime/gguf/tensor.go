package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"mla/runtime/quant"
)

// Tensor describes one tensor and gives access to its bytes.
type Tensor struct {
	Name   string
	Type   quant.Type
	Dims   []uint64 // GGUF order: Dims[0] is contiguous in memory
	Offset uint64   // of the data, from the beginning of its shard
	Size   uint64   // in bytes; up to the next tensor if Type is unknown
	Data   []byte   // view of the shard; nil if Type is unknown
	Shard  int      // index in File.Shards
}

// Format returns the layout of the tensor's blocks. A tensor of a type that
// package quant does not know can be listed but not used: it gives an error.
func (t *Tensor) Format() (*quant.Format, error) {
	format, ok := quant.InFiles(t.Type)
	if !ok {
		return nil, fmt.Errorf("tensor %q has %s", t.Name, Unread(t.Type))
	}
	return format, nil
}

// Elems returns the number of elements, the product of Dims.
func (t *Tensor) Elems() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d // the parser has checked that this does not overflow
	}
	return n
}

// Tensor returns the tensor called name.
func (f *File) Tensor(name string) (*Tensor, bool) {
	i, ok := f.names[name]
	if !ok {
		return nil, false
	}
	return &f.Tensors[i], true
}

// An NVFP4 block has scales for 16 weights with four bits of precision. Converters of checkpoints keep a
// further scale of the whole tensor next to it: "X.scale" belongs to "X.weight", with one float for the
// tensor or for each of its experts. "X.input_scale", the scale of quantised activations, is not needed.
const (
	weightSuffix     = ".weight"
	scaleSuffix      = ".scale"
	inputScaleSuffix = ".input_scale"
)

// Scaled is the NVFP4 tensor to which the scales with a name belong.
func (f *File) Scaled(name string) (*Tensor, bool) {
	for _, suffix := range []string{scaleSuffix, inputScaleSuffix} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			t, ok := f.Tensor(base + weightSuffix)
			return t, ok && t.Type == quant.NVFP4
		}
	}
	return nil, false
}

// Scale is the tensor with the scales of t; nil: t has none. Its data is missing if only a header was parsed.
func (f *File) Scale(t *Tensor) (*Tensor, error) {
	base, ok := strings.CutSuffix(t.Name, weightSuffix)
	if !ok || t.Type != quant.NVFP4 {
		return nil, nil
	}
	s, ok := f.Tensor(base + scaleSuffix)
	if !ok {
		return nil, nil
	}
	entries := uint64(1)
	if len(t.Dims) > 2 {
		entries = t.Dims[2]
	}
	if s.Type != quant.F32 || s.Elems() != entries {
		return nil, fmt.Errorf("tensor %q is %v with dimensions %d; expected f32 with %d, one for each of the matrices of %q",
			s.Name, s.Type, s.Dims, entries, t.Name)
	}
	return s, nil
}

// TypeInKernels is the type of t in kernels: the file's, or NVFP4Scaled if t has scales.
func (f *File) TypeInKernels(t *Tensor) (quant.Type, error) {
	s, err := f.Scale(t)
	if s == nil || err != nil {
		return t.Type, err
	}
	return quant.NVFP4Scaled, nil
}

// Float is element i of a tensor of type F32.
func (t *Tensor) Float(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
}
