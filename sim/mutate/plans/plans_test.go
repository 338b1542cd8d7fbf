package plans_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/mutate/plans"
)

// toy is a model of two layers with one kernel: as little as has a place for every
// kind of mistake, so that TestList can name them all.
func toy() *device.Model {
	b := &plan.Bundle{
		Name: "toy", Sequences: []plan.Sequence{{Width: 1, ArenaBytes: 1024}}, Model: plan.Model{Dims: plan.Dims{NumHiddenLayers: 2}},
		Weights: []plan.Weight{{Role: "w", Batch: 2, First: 0, Last: 2}},
		Kernels: []plan.Kernel{{Name: "k", Threads: 64, Parts: []plan.Part{devicetest.Groups(3)},
			Slots: []plan.Slot{{Name: "w", Elem: plan.ElemTyped}, {Name: "cache", Space: plan.SpaceKV, Elem: plan.ElemTyped},
				{Name: "x", Space: plan.SpaceArena}, {Name: "y", Space: plan.SpaceArena, Write: true}},
			Variants: []plan.Variant{{Func: "k_f16", Types: []quant.Type{quant.F32, quant.F16}}, {Func: "k_f32", Types: []quant.Type{quant.F32, quant.F32}}}}},
	}
	for layer := range 2 {
		b.Decode().Dispatches = append(b.Decode().Dispatches, plan.Dispatch{Layer: layer, Barrier: layer > 0, Operands: []plan.Operand{
			{}, {Space: plan.SpaceKV, Index: layer}, {Space: plan.SpaceArena, Bytes: 64}, {Space: plan.SpaceArena, Offset: 960, Bytes: 64}}})
	}
	w := func(name string, offset int64) device.Weight {
		return device.Weight{Tensor: name, Type: quant.F32, Offset: offset, Bytes: 64, BatchStride: 32}
	}
	return &device.Model{Bundle: b, Regions: [][]byte{make([]byte, 256)}, Weights: [][]device.Weight{{w("a", 64), w("b", 128)}}}
}

// TestList expects one mistake of every kind where there is place for it, and that
// each changes the model.
func TestList(t *testing.T) {
	want := strings.Fields(`
		barrier/1-k
		swap/0-k/x,y swap/1-k/x,y
		offset/0-k/x offset/0-k/y offset/1-k/x offset/1-k/y
		misalign/0-k/y misalign/1-k/y
		layer/1-k
		cache/0-k/cache cache/1-k/cache
		variant/k_f32/k_f16
		groups/k threads/k
		stride/a/w stride/b/w shift/a/w shift/b/w`)
	before := dump(toy())
	for i, m := range plans.List(toy(), quant.F32) {
		if i >= len(want) || m.ID != want[i] {
			t.Fatalf("mutation %d is %s; expected %v", i, m.ID, want)
		}
		changed := toy()
		plans.List(changed, quant.F32)[i].Apply()
		if reflect.DeepEqual(dump(changed), before) {
			t.Errorf("%s changes nothing", m.ID)
		}
	}
}

func dump(m *device.Model) string {
	return fmt.Sprintf("%+v %+v %+v %d", m.Weights, m.Bundle.Decode().Dispatches, m.Bundle.Kernels, m.Bundle.Kernels[0].Groups())
}
