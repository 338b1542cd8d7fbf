package spectest

import (
	"fmt"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
)

// File has the tensors of a model file, decoded to floats.
type File struct {
	tensors map[string][]float32
}

// Read decodes the tensors of f that the weight table of s has. A tensor that files may have in another form
// must be in the form of the table.
func Read(f *gguf.File, s *spec.Spec) (*File, error) {
	w := &File{tensors: map[string][]float32{}}
	for _, row := range weights.Table(s) {
		for l := range row.Layers() {
			t, ok := f.Tensor(row.Name(l))
			if !ok {
				return nil, fmt.Errorf("tensor %q is missing", row.Name(l))
			}
			format, err := t.Format()
			if err != nil {
				return nil, err
			}
			out := make([]float32, row.Elems())
			format.Dequantize(out, t.Data)
			w.tensors[nameOf(row.Role, row.Layer(l))] = out
		}
	}
	return w, nil
}

func nameOf(role string, layer int) string { return fmt.Sprint(role, "/", layer) }

// Tensor implements interp.Weights.
func (w *File) Tensor(role string, layer int) []float32 { return w.tensors[nameOf(role, layer)] }
