// Package synth writes GGUF files with a model's real shapes and types, but random weights, so that a bundle
// can be run, measured and tested without a download. The distribution of the weights keeps activations in
// range. The text that such a model generates is meaningless.
package synth

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// Write writes a file to path. profile names the quant types: a profile of the spec, or a stock profile as
// spec.ParseQuant reads it ("q4_0", "q4_k_m legacy_kv_b"). The same spec, profile and seed give the same
// bytes. The file appears at path only when it is complete. If ctx ends before, Write returns its error and
// leaves no file.
func Write(ctx context.Context, s *spec.Spec, profile, path string, seed uint64) error {
	q, err := findProfile(s, profile)
	if err != nil {
		return err
	}
	meta, err := metadata(s, q)
	if err != nil {
		return err
	}
	tensors, err := list(s, q)
	if err != nil {
		return err
	}
	tensors = withScales(tensors)
	infos := make([]gguf.TensorInfo, len(tensors))
	for i, t := range tensors {
		infos[i] = t.info
	}
	w, err := gguf.NewWriter(path, meta, infos)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range tensors {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := w.WriteTensor(t.info.Name, func(out io.Writer) error { return t.write(out, seed) })
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func findProfile(s *spec.Spec, profile string) (spec.Quant, error) {
	i := slices.IndexFunc(s.Quants, func(q spec.Quant) bool { return strings.EqualFold(q.Name, profile) })
	if i >= 0 {
		return s.Quants[i], nil
	}
	q, err := spec.ParseQuant(profile)
	if err != nil {
		var own []string
		for _, o := range s.Quants {
			own = append(own, strconv.Quote(o.Name))
		}
		err = fmt.Errorf("%w; the spec's own profiles: %s", err, strings.Join(own, ", "))
	}
	return q, err
}

// tensor is one tensor of the file.
type tensor struct {
	row  weights.Row
	info gguf.TensorInfo
	of   distribution
}

// list returns the tensors in the order in which converters write them: those outside the layers, then layer
// by layer.
func list(s *spec.Spec, q spec.Quant) ([]tensor, error) {
	rows, types, err := quantmix.Stored(s, q)
	if err != nil {
		return nil, err
	}
	var all []tensor
	for layer := -1; layer < s.Model.NumHiddenLayers; layer++ {
		for i, row := range rows {
			switch {
			case layer < 0 && row.First < 0:
				all = append(all, newTensor(s, row, row.GGUF, types[i][0]))
			case layer >= 0 && row.Index(layer) >= 0:
				all = append(all, newTensor(s, row, row.Name(row.Index(layer)), types[i][row.Index(layer)]))
			}
		}
	}
	if s.Model.NumNextNPredictLayers == 0 {
		return all, nil
	}
	own, err := nextN(s.NextNLayer(), q)
	return append(all, own...), err
}

// nextN returns the tensors that only the multi-token-prediction layer has. Its embedding has the type of its
// head.
func nextN(s *spec.Spec, q spec.Quant) (all []tensor, err error) {
	q.Types = q.NextN
	rows, types, err := quantmix.Stored(s, q)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		all = append(all, newTensor(s, rows[i], rows[i].Name(0), types[i][0]))
	}
	head := all[len(all)-1].info.Type
	for _, row := range weights.Joined(s) {
		switch row.Role {
		case weights.EmbedTokens:
			all = append(all, newTensor(s, row, row.Name(0), head))
		case weights.ENorm, weights.HNorm:
			all = append(all, newTensor(s, row, row.Name(0), quant.F32))
		}
	}
	return slices.DeleteFunc(all, func(t tensor) bool { return !strings.HasPrefix(t.info.Name, "blk.") }), nil
}

func newTensor(s *spec.Spec, row weights.Row, name string, t quant.Type) tensor {
	dims := []uint64{uint64(row.Cols)}
	if between[row.Role] {
		dims = append(dims, 1)
	}
	if !row.Vector {
		dims = append(dims, uint64(row.Rows))
	}
	if row.Batch > 1 || threeDimensional[row.Role] {
		dims = append(dims, uint64(row.Batch))
	}
	return tensor{row, gguf.TensorInfo{Name: name, Type: t, Dims: dims}, distribute(s, &row)}
}

// withScales adds a tensor of scales after each weight whose type has them, because files store scales as
// separate tensors.
func withScales(list []tensor) (all []tensor) {
	const mean = 1.0 / 4
	for _, t := range list {
		scaled := t.info.Type == quant.NVFP4Scaled
		if scaled {
			t.info.Type = quant.NVFP4
			t.of.std /= mean
		}
		if all = append(all, t); scaled {
			row := weights.Row{Cols: t.row.Batch, Rows: 1, Batch: 1}
			name := strings.TrimSuffix(t.info.Name, ".weight") + ".scale"
			all = append(all, tensor{row, gguf.TensorInfo{Name: name, Type: quant.F32, Dims: []uint64{uint64(row.Cols)}}, distribution{mean, mean / 8}})
		}
	}
	return all
}

// between are the roles with a dimension of 1 between columns and rows, which llama.cpp requires.
var between = map[string]bool{weights.LinearQConv: true, weights.LinearKConv: true, weights.LinearVConv: true}

// threeDimensional are the roles that have a third dimension even if it is 1.
var threeDimensional = map[string]bool{weights.KB: true, weights.VB: true,
	weights.ExpertsGate: true, weights.ExpertsUp: true, weights.ExpertsDown: true}

// write writes the tensor's data, which depend only on the seed and the name.
func (t *tensor) write(out io.Writer, seed uint64) error {
	h := fnv.New64a()
	h.Write([]byte(t.info.Name))
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], h.Sum64())
	f, err := newFiller(t.info.Type, t.of, rand.NewChaCha8(key))
	if err != nil {
		return err
	}
	blocks := t.row.Elems() / f.format.BlockElems
	perChunk := min(blocks, max(1, chunkBytes/f.format.BlockBytes))
	buf := make([]byte, perChunk*f.format.BlockBytes)
	for blocks > 0 {
		n := min(blocks, perChunk)
		b := buf[:n*f.format.BlockBytes]
		f.fill(b)
		if _, err := out.Write(b); err != nil {
			return err
		}
		blocks -= n
	}
	return nil
}

// chunkBytes is how many bytes are drawn at a time, few enough for CPU caches.
const chunkBytes = 1 << 18
