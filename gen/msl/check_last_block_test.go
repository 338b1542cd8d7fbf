package msl

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// withLastBlocks is a kernel with a last-block part behind each of two parts, and changes to it.
func withLastBlocks(change func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV)) plan.Kernel {
	var s slots
	after := &plan.MatVec{W: s.weight("w"), Batch: 1, Rows: 144, Cols: 64, RowsPerGroup: 16, In: s.in("x"), Out: s.out("q"), Up: -1, Add: -1}
	latent := &plan.MatVec{W: s.weight("w_a"), Batch: 1, Rows: 80, Cols: 64, RowsPerGroup: 16, In: after.In, Out: s.out("kv_a"), Up: -1, Add: -1}
	heads := &plan.MatVec{W: s.weight("w_k"), Batch: 3, Rows: 40, Cols: 32, RowsPerGroup: 40, In: plan.Vec{Slot: after.Out.Slot, Stride: 48}, Up: -1, Add: -1}
	heads.Out = s.out("q_abs")
	heads.Out.Stride = 40
	row := &plan.StoreKV{Lat: latent.Out, KPe: latent.Out, LatDim: 64, PeDim: 16, Cache: s.cache(true)}
	row.KPe.Offset = 64
	s.step()
	s.args()
	k := s.kernel("withLastBlocks", []int{heads.W}, after, latent)
	counter := func(name string) int {
		k.Slots = append(k.Slots, plan.Slot{Name: name, Space: plan.SpaceCounters, Elem: plan.ElemCounter, Write: true})
		return len(k.Slots) - 1
	}
	k.LastBlocks = []plan.LastBlock{{Part: heads, After: 0, Counters: counter("arrived")}, {Part: row, After: 1, Counters: counter("arrived_2")}}
	k.Variants = k.Variants[:1] // f32
	change(&k, after, heads, row)
	return k
}

// TestLastBlocksRefused: what the templates of last-block parts take for granted is checked.
func TestLastBlocksRefused(t *testing.T) {
	for _, tt := range []struct {
		change func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV)
		want   string // "": nothing is wrong
	}{
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) {}, ""},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { k.LastBlocks[0].After = 2 }, "behind part 2 of 2"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { k.LastBlocks[1].After = 0 }, "expected what part 0 makes"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { k.LastBlocks[1] = k.LastBlocks[0] }, "part 0 has two"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { k.Parts[0] = &plan.AddVec{} }, "part 0: "},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { after.Batch = 3 }, "expected one mat-vec"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) {
			k.LastBlocks[0].Counters = after.Out.Slot
		}, "cannot serve as counters"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) {
			k.LastBlocks[0].Part = &plan.NormVec{}
		}, "slot"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) {
			k.LastBlocks[0].Part = &plan.AddVec{A: heads.In, B: heads.In, Out: heads.Out, Dim: 48, RowsPerGroup: 16}
		}, "no template for a *plan.AddVec as a last-block part"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { after.RowsPerGroup = 32 }, "3 groups of 144 rows, 32 per threadgroup"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { heads.Batch = 5 }, "5 groups of 144 rows"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { heads.RowsPerGroup = 64 }, "of 64 rows per group; expected all 40"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { heads.Up = heads.W }, "fuses something"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { heads.In.Stride = 32 }, "reads 32 elements of slot 2, 32 apart"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { heads.In.Offset = 24 }, "reads 56 elements"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { row.KPe.Offset = 68 }, "reads 84 elements"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) {
			k.Slots[after.Out.Slot].Elem = plan.ElemF32
		}, "reads slot 2, which does not hold activations"},
		{func(k *plan.Kernel, after, heads *plan.MatVec, row *plan.StoreKV) { row.Lat = after.In }, "expected what part 1 makes"},
	} {
		k := withLastBlocks(tt.change)
		_, err := Print(&plan.Bundle{Kernels: []plan.Kernel{k}}, header)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v; want an error that says %q", err, tt.want)
		}
	}
}
