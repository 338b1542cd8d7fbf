package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// fileWeights reads a model's weights from a file, in whichever layout it has
// them. It shares no code with package bind.
type fileWeights struct {
	file  *gguf.File
	spec  *spec.Spec
	cache map[string][]float32
}

// Tensor implements interp.Weights.
func (w *fileWeights) Tensor(role string, layer int) []float32 {
	rows := weights.Table(w.spec)
	row := &rows[slices.IndexFunc(rows, func(r weights.Row) bool { return r.Role == role })]
	if row.First < 0 {
		return w.read(row.GGUF)
	}
	name := fmt.Sprintf(row.GGUF, layer)
	if _, ok := w.file.Tensor(name); ok {
		return w.read(name)
	}
	fused := w.read(fmt.Sprintf(row.Alt, layer))
	key := name + " part"
	if w.cache[key] == nil {
		w.cache[key] = w.part(fused, row)
	}
	return w.cache[key]
}

// part takes a weight out of the fused tensor that a file has instead.
func (w *fileWeights) part(fused []float32, row *weights.Row) []float32 {
	m, n := &w.spec.Model, row.Rows*row.Cols
	skip, step := 0, 2*n // gate rows, then up rows
	switch row.Role {
	case weights.KB, weights.VB: // key rows, then value rows
		step = (m.QKNopeHeadDim + m.VHeadDim) * m.KVLoraRank
	}
	if row.Role == weights.VB || row.Role == weights.ExpertsUp {
		skip = step - n
	}
	var all []float32
	for b := range row.Batch {
		p := fused[b*step+skip:][:n]
		if row.Role == weights.KB {
			p = transpose(p, row.Cols, row.Rows)
		}
		all = append(all, p...)
	}
	return all
}

func (w *fileWeights) read(name string) []float32 {
	if w.cache == nil {
		w.cache = map[string][]float32{}
	}
	if w.cache[name] == nil {
		t, ok := w.file.Tensor(name)
		if !ok {
			panic("no tensor " + name) // the bundle was bound, so the file has it
		}
		values := dequantize(t.Type, t.Data)
		scale, err := w.file.Scale(t)
		if err != nil {
			panic(err)
		}
		if scale != nil {
			factors := int(scale.Elems())
			for i := range values {
				values[i] *= scale.Float(i * factors / len(values))
			}
		}
		w.cache[name] = values
	}
	return w.cache[name]
}

func dequantize(t quant.Type, data []byte) []float32 {
	format, ok := quant.Lookup(t)
	if !ok {
		panic("no format " + t.String())
	}
	x := make([]float32, len(data)/format.BlockBytes*format.BlockElems)
	format.Dequantize(x, data)
	return x
}

// transpose turns rows × cols into cols × rows.
func transpose(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for r := range rows {
		for c := range cols {
			y[c*rows+r] = x[r*cols+c]
		}
	}
	return y
}

// modelFile is a GGUF file taken apart, to be put together differently.
type modelFile struct {
	meta    []gguf.KV
	tensors []gguf.TensorInfo
	data    map[string][]byte
}

// loadModel reads a file that stays open, since its values are views of it.
func loadModel(t *testing.T, path string) *modelFile {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m := &modelFile{meta: slices.Clone(f.Meta), data: map[string][]byte{}}
	for _, x := range f.Tensors {
		m.add(x.Name, x.Type, x.Dims, x.Data)
	}
	return m
}

// clone is a copy that can be changed; values and tensor data are shared.
func (m *modelFile) clone() *modelFile {
	return &modelFile{slices.Clone(m.meta), slices.Clone(m.tensors), maps.Clone(m.data)}
}

func (m *modelFile) set(key string, v gguf.Value) {
	m.drop(key)
	m.meta = append(m.meta, gguf.KV{Key: "deepseek2." + key, Value: v})
}

func (m *modelFile) drop(keys ...string) {
	m.meta = slices.DeleteFunc(m.meta, func(kv gguf.KV) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return kv.Key == "deepseek2."+k })
	})
}

func (m *modelFile) add(name string, t quant.Type, dims []uint64, data []byte) {
	m.tensors = append(m.tensors, gguf.TensorInfo{Name: name, Type: t, Dims: dims})
	m.data[name] = data
}

// remove removes a tensor and returns its header entry and its bytes.
func (m *modelFile) remove(name string) (gguf.TensorInfo, []byte) {
	i := slices.IndexFunc(m.tensors, func(x gguf.TensorInfo) bool { return x.Name == name })
	x := m.tensors[i]
	m.tensors = slices.Delete(m.tensors, i, i+1)
	return x, m.data[name]
}

func (m *modelFile) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changed.gguf")
	m.writeTo(t, path, m.meta, m.tensors)
	return path
}

func (m *modelFile) writeTo(t *testing.T, path string, meta []gguf.KV, tensors []gguf.TensorInfo) {
	t.Helper()
	w, err := gguf.NewWriter(path, meta, tensors)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, x := range tensors {
		err := w.WriteTensor(x.Name, func(out io.Writer) error {
			_, err := out.Write(m.data[x.Name])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeSplit writes n shards, metadata in the first, and returns the path of
// the second.
func (m *modelFile) writeSplit(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	path := func(no int) string { return filepath.Join(dir, fmt.Sprintf("part-%05d-of-%05d.gguf", no+1, n)) }
	for no := range n {
		meta := []gguf.KV{{Key: "split.no", Value: gguf.Uint16(uint16(no))}, {Key: "split.count", Value: gguf.Uint16(uint16(n))},
			{Key: "split.tensors.count", Value: gguf.Int32(int32(len(m.tensors)))}}
		if no == 0 {
			meta = append(slices.Clone(m.meta), meta...)
		}
		m.writeTo(t, path(no), meta, m.tensors[no*len(m.tensors)/n:(no+1)*len(m.tensors)/n])
	}
	return path(1)
}

// writeVersion2 writes the file with the version number before the current
// one, from which it differs for big-endian machines only.
func (m *modelFile) writeVersion2(t *testing.T) string {
	t.Helper()
	path := m.write(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[4] = 2
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
