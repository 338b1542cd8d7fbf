// Package devicetest has the shared parts of device tests: a model that refers to every kind of memory, for
// tests of the resolution of plans, and the paths of the simulators. The model's kernels are only names, so
// it runs on no device.
package devicetest

import (
	"slices"
	"strings"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Groups is a part of a kernel that has a number of threadgroups and no effect.
type Groups int

// Groups implements plan.Part.
func (g Groups) Groups() int { return int(g) }

// Sizes implements plan.Part.
func (Groups) Sizes() []int { return nil }

// Uses implements plan.Part.
func (Groups) Uses() []plan.Use { return nil }

// Toy returns a model of two layers, a head and a sampler, of one dispatch each, and a configuration with
// which it can be resolved. Weight 0 has a matrix per layer; the second lies at the start of the third page
// of the only region, with another stride. Weight 1 is bound to nothing.
func Toy() (*device.Model, device.Config) {
	w := func(offset, stride int64) device.Weight {
		return device.Weight{Tensor: "t", Type: quant.Q8_0, Offset: offset, Bytes: 340, BatchStride: stride}
	}
	m := &device.Model{
		Bundle:  bundle(),
		Regions: [][]byte{make([]byte, 3*device.MappedAlign)},
		Weights: [][]device.Weight{{w(64, 34), w(2*device.MappedAlign, 68)}, {w(512, 0)}},
	}
	return m, device.Config{Context: 5, KV: quant.F16}
}

// PickBytes is the size of the picks' memory of Toy's bundle.
var PickBytes = plan.PickLayoutOf(plan.DefaultBatch, 10, 1).Bytes

func bundle() *plan.Bundle {
	return &plan.Bundle{
		Name: "toy", PickBytes: PickBytes, RopeFreqs: []float64{1, 0.5}, RopeMScale: 1,
		Model:   plan.Model{Dims: plan.Dims{VocabSize: 10, NumHiddenLayers: 2, KVLoraRank: 12, QKRopeHeadDim: 4, MaxPositionEmbeddings: 64}},
		Weights: []plan.Weight{{Role: "a", First: 0, Last: 2}, {Role: "b", First: -1}},
		Kernels: []plan.Kernel{
			{Name: "k", Threads: 64, Parts: []plan.Part{Groups(3), &plan.MatVec{Product: plan.Product{Rows: 2, Cols: 32, RowsPerGroup: 1, Up: -1}, Batch: 2, Add: -1}}, Args: []int{0},
				Slots: []plan.Slot{
					{Name: "w", Elem: plan.ElemTyped}, {Name: "cache", Space: plan.SpaceKV, Elem: plan.ElemTyped},
					{Name: "x", Space: plan.SpaceArena}, {Name: "args", Space: plan.SpaceArgs, Elem: plan.ElemArgs},
					{Name: "current", Space: plan.SpaceRow, Elem: plan.ElemRow}, {Name: "rope", Space: plan.SpaceRope},
				},
				Variants: []plan.Variant{{Func: "k_f16", Types: []quant.Type{quant.Q8_0, quant.F16}}, {Func: "k_f32", Types: []quant.Type{quant.Q8_0, quant.F32}}}},
			{Name: "head", Threads: 32, Parts: []plan.Part{Groups(1)}, Slots: []plan.Slot{{Name: "out", Space: plan.SpaceLogits, Write: true}},
				Variants: []plan.Variant{{Func: "head"}}},
			{Name: "pick", Threads: 32, Parts: []plan.Part{Groups(2)}, Slots: []plan.Slot{{Name: "picks", Space: plan.SpacePick, Elem: plan.ElemPick, Write: true}},
				Variants: []plan.Variant{{Func: "pick"}}},
		},
		Sequences: []plan.Sequence{{Width: 1, Head: 1, ArenaBytes: 1024, Dispatches: []plan.Dispatch{layer(0, false), layer(1, true), {Kernel: 1, Layer: -1, Operands: []plan.Operand{{Space: plan.SpaceLogits}}}}}},
		Pick:      []plan.Dispatch{{Kernel: 2, Layer: -1, Barrier: true, Operands: []plan.Operand{{Space: plan.SpacePick, Offset: 256, Bytes: 64}}}},
	}
}

// AddClass gives devices of a kernel class their own kernel in place of the layers' kernel: its name is "k_"
// and the class, and it has 96 threads.
func AddClass(b *plan.Bundle, class string) {
	k := b.Kernels[0]
	k.Name, k.Class, k.Instead, k.Threads = k.Name+"_"+class, class, 0, 96
	k.Variants = slices.Clone(k.Variants)
	for i := range k.Variants {
		v := &k.Variants[i]
		v.Func = strings.Replace(v.Func, "k_", "k_"+class+"_", 1)
	}
	b.Kernels = append(b.Kernels, k)
}

// layer returns the dispatch of a layer.
func layer(l int, barrier bool) plan.Dispatch {
	return plan.Dispatch{Layer: l, Barrier: barrier, Operands: []plan.Operand{
		{}, {Space: plan.SpaceKV, Index: l}, {Space: plan.SpaceArena, Offset: 256, Bytes: 64}, {Space: plan.SpaceArgs},
		{Space: plan.SpaceRow}, {Space: plan.SpaceRope}}}
}
