package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"mla/runtime/quant"
)

// NVFP4 has scales of 16 weights with four bits of precision, and converters of checkpoints keep the scale of the whole
// tensor beside it: "X.scale" is of "X.weight", a float of the tensor or of each of its experts. What quantised
// activations would be scaled by, "X.input_scale", is not needed for floats.
const (
	weightSuffix     = ".weight"
	scaleSuffix      = ".scale"
	inputScaleSuffix = ".input_scale"
)

// Scaled is the NVFP4 tensor that the tensor of some name is a scale of.
func (f *File) Scaled(name string) (*Tensor, bool) {
	for _, suffix := range []string{scaleSuffix, inputScaleSuffix} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			t, ok := f.Tensor(base + weightSuffix)
			return t, ok && t.Type == quant.NVFP4
		}
	}
	return nil, false
}

// Scale returns the tensor with the scales of t; nil where t has none. Its data may be missing, as that of all tensors of a
// header.
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

// TypeInKernels is the type that kernels see of t: that of the file, or with scales.
func (f *File) TypeInKernels(t *Tensor) (quant.Type, error) {
	s, err := f.Scale(t)
	if s == nil || err != nil {
		return t.Type, err
	}
	return quant.NVFP4Scaled, nil
}

// Float is number i of a tensor of type F32.
func (t *Tensor) Float(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
}
