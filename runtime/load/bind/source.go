package bind

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// source is the place of one weight in the file.
type source struct {
	tensor        *gguf.Tensor
	typ           quant.Type // as kernels see it
	offset, bytes int64      // of the weight; offset is from the beginning of the tensor
	stride        int64      // bytes between heads or experts
	// transpose marks a weight that is copied, because the file has it transposed: entry h is the transpose
	// of the cols rows that begin offset + h·stride bytes into the tensor.
	transpose         bool
	cols, rows, batch int // of the weight
	// change makes a copy that differs from the file in another way; nil: no change. It gets the number of
	// the entry.
	change func(dst, src []byte, entry int)
	entry  int64 // bytes of an entry in the file
}

// copied says whether the weight has to be copied.
func (s *source) copied() bool { return s.transpose || s.change != nil }

// view is the weight as a part of its shard.
func (s *source) view() device.Weight {
	return device.Weight{
		Tensor: s.tensor.Name, Type: s.typ, BatchStride: s.stride,
		Region: s.tensor.Shard, Offset: int64(s.tensor.Offset) + s.offset, Bytes: s.bytes,
	}
}

// part is the place of one weight in a fused tensor, which has rows of several weights for each head or
// expert in turn.
type part struct {
	before, after func(*plan.Model) int // rows of other weights before and after its own, per head or expert; nil: none
	transpose     bool                  // the file has it transposed
	flat          bool                  // the batch is part of the tensor's rows, not a third dimension
}

// parts lists, by role, the weights that may be part of a fused tensor. In attn_kv_b, the key rows of a head
// (qk_nope_head_dim rows of kv_lora_rank elements) precede its value rows; absorption needs the key part
// transposed. In ffn_gate_up_exps, the gate rows of an expert precede its up rows. In attn_qkv of linear
// attention, the rows of all queries come first, then all keys, then all values.
var parts = map[string]part{
	"self_attn.k_b_proj":    {flat: true, transpose: true, after: func(m *plan.Model) int { return m.VHeadDim }},
	"self_attn.v_b_proj":    {flat: true, before: func(m *plan.Model) int { return m.QKNopeHeadDim }},
	"mlp.experts.gate_proj": {after: expertRows},
	"mlp.experts.up_proj":   {before: expertRows},
	"linear_attn.q_proj":    {after: func(m *plan.Model) int { return 2 * linearRows(m) }},
	"linear_attn.k_proj":    {before: linearRows, after: linearRows},
	"linear_attn.v_proj":    {before: func(m *plan.Model) int { return 2 * linearRows(m) }},
}

func expertRows(m *plan.Model) int { return m.MoE.MoEIntermediateSize }

// linearRows is the number of rows of linear attention's queries.
func linearRows(m *plan.Model) int {
	if m.Hybrid == nil {
		return 0
	}
	return m.NumAttentionHeads * m.Hybrid.HeadDim
}

// rows calls a function of a part that may be nil.
func (part) rows(of func(*plan.Model) int, m *plan.Model) int {
	if of == nil {
		return 0
	}
	return of(m)
}

// absent is the finding of a mismatch for a missing tensor.
const absent = "no such tensor"

// layerName is the name of the pattern's tensor in the l-th layer that has weight w.
func layerName(pattern string, w *plan.Weight, l int) string {
	if w.First < 0 {
		return pattern
	}
	return strings.Replace(pattern, "%d", fmt.Sprint(w.Layer(l)), 1)
}

// whole is the source of a weight with a tensor of its own.
func whole(t, scale *gguf.Tensor, w *plan.Weight) (*source, *Mismatch) {
	format, bad := check(t, w, shape(w))
	if bad != nil {
		return nil, bad
	}
	row, bad := rowBytes(t, w, format, w.Cols)
	if bad != nil {
		return nil, bad
	}
	s := &source{tensor: t, typ: t.Type, bytes: int64(t.Size), stride: int64(w.Rows) * row, entry: int64(w.Rows) * row,
		cols: w.Cols, rows: w.Rows, batch: w.Batch, change: change(w, int(row))}
	s.scaled(scale)
	return s, allowed(t, w, s.typ)
}

// in is the source of a weight that is part of tensor t.
func (h part) in(t, scale *gguf.Tensor, w *plan.Weight, m *plan.Model) (*source, *Mismatch) {
	cols, rows := w.Cols, w.Rows
	if h.transpose {
		cols, rows = rows, cols
	}
	before := h.rows(h.before, m)
	other := before + h.rows(h.after, m)
	want := []int{cols, rows + other, w.Batch}
	if h.flat {
		want = []int{cols, (rows + other) * w.Batch}
	}
	format, bad := check(t, w, want)
	if bad != nil {
		return nil, bad
	}
	row, bad := rowBytes(t, w, format, cols)
	if bad != nil {
		return nil, bad
	}
	if scale != nil && h.flat {
		return nil, &Mismatch{What: fmt.Sprintf("tensor %q", scale.Name), Found: "a scale of keys and values in one", Expected: "none"}
	}
	s := &source{tensor: t, typ: t.Type, offset: int64(before) * row, stride: int64(rows+other) * row, entry: int64(rows) * row, cols: w.Cols, rows: w.Rows, batch: w.Batch}
	s.bytes = int64(w.Batch-1)*s.stride + int64(rows)*row
	if h.transpose {
		// Blocks would have to run along the other axis. Quantising again would lose precision, so the copy
		// is float32.
		s.transpose = true
		if format.BlockElems > 1 {
			s.typ, format = quant.F32, mustLookup(quant.F32)
		}
		s.bytes = int64(w.Cols) * int64(w.Rows) * int64(w.Batch) * int64(format.BlockBytes)
	}
	s.scaled(scale)
	return s, allowed(t, w, s.typ)
}

// check compares the dimensions of t and returns the format of its type.
func check(t *gguf.Tensor, w *plan.Weight, want []int) (*quant.Format, *Mismatch) {
	if got := trimmed(t.Dims); !slices.Equal(got, trimmed(want)) {
		return nil, &Mismatch{What: subject(t.Name, w), Found: "dimensions " + dims(got), Expected: dims(trimmed(want))}
	}
	format, ok := quant.Lookup(t.Type)
	if !ok {
		return nil, allowed(t, w, t.Type)
	}
	return format, nil
}

func rowBytes(t *gguf.Tensor, w *plan.Weight, format *quant.Format, cols int) (int64, *Mismatch) {
	n, err := format.RowBytes(cols)
	if err != nil {
		return 0, &Mismatch{What: subject(t.Name, w), Found: err.Error(), Expected: "whole blocks"}
	}
	return int64(n), nil
}

// allowed says whether the bundle has kernels for a weight of type typ.
func allowed(t *gguf.Tensor, w *plan.Weight, typ quant.Type) *Mismatch {
	if slices.Contains(w.Types, typ) {
		return nil
	}
	found := "type " + typeName(t.Type)
	switch typ {
	case t.Type:
	case quant.NVFP4Scaled:
		found += " with scales"
	default:
		found += ", transposed to " + typeName(typ)
	}
	return &Mismatch{What: subject(t.Name, w), Found: found, Expected: typeNames(w.Types), Types: true}
}

func mustLookup(t quant.Type) *quant.Format {
	format, ok := quant.Lookup(t)
	if !ok {
		panic("bind: no format for " + t.String())
	}
	return format
}

// shape is the GGUF shape of w, contiguous dimension first.
func shape(w *plan.Weight) []int { return trimmed([]int{w.Cols, w.Rows, w.Batch}) }

// trimmed removes dimensions of 1 except the first, because GGUF files may omit them: trailing ones, and the
// one between the taps of a convolution and its channels.
func trimmed[T int | uint64](d []T) []int {
	out := make([]int, 0, len(d))
	for i, n := range d {
		if i == 0 || n != 1 {
			out = append(out, int(n))
		}
	}
	return out
}

// change returns the function that converts a weight with row bytes per row to the layout that kernels need;
// nil: the file has that layout.
func change(w *plan.Weight, row int) func(dst, src []byte, entry int) {
	switch {
	case w.RotaryRows > 0:
		return func(dst, src []byte, _ int) { pair(dst, src, row, w) }
	case w.Scale != 0:
		return func(dst, src []byte, _ int) { scale(dst, src, w.Scale) }
	}
	return nil
}

// scaled sets up a copy of NVFP4 weights with their tensor scales in each block, so that kernels need no
// operand for the scales. scale is nil if the file has none.
func (s *source) scaled(scale *gguf.Tensor) {
	if scale == nil {
		return
	}
	from, to := mustLookup(quant.NVFP4), mustLookup(quant.NVFP4Scaled)
	before := s.change
	s.typ = quant.NVFP4Scaled
	s.bytes = s.entry / int64(from.BlockBytes) * int64(to.BlockBytes) * int64(s.batch)
	s.change = func(dst, src []byte, entry int) {
		if before != nil {
			changed := make([]byte, len(src))
			before(changed, src, entry)
			src = changed
		}
		quant.ScaleNVFP4(dst, src, scale.Float(entry))
	}
}
