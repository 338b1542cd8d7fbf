package device

import (
	"reflect"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

func TestLoadOf(t *testing.T) {
	rows := []plan.Row{{NKV: 10}, {NKV: 70}, {}, {NKV: 3, Table: 1}}
	if got, want := LoadOf(rows), (Load{Rows: 3, Pairs: 83, Cached: 3 * plan.PageRows, Depths: []int{10, 70, 3}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; expected %+v", got, want)
	}
}

// TestWork compares the count of work with numbers that were computed by hand, and checks that the parts add
// up to the whole.
func TestWork(t *testing.T) {
	b := &plan.Bundle{Model: plan.Model{Dims: plan.Dims{NumAttentionHeads: 2, KVLoraRank: 60, QKRopeHeadDim: 4, QKNopeHeadDim: 8, VHeadDim: 16}}}
	m := &Model{Bundle: b}
	kv, heads := plan.Slot{Space: plan.SpaceKV, Elem: plan.ElemTyped}, plan.Slot{Space: plan.SpaceHeads}
	q8 := &Weight{Type: quant.Q8_0}
	elements := int64(2*8 + 2*16 + 4) // of a cache row's heads
	splits := plan.Splits{Count: 8, Tile: 4, Least: 16}
	arena := plan.Slot{Space: plan.SpaceArena}
	sums, pairs := int64(4*8*2*60), int64(4*8*2*2) // of a row's splits
	for _, tt := range []struct {
		name  string
		width int
		part  plan.Part
		slots []plan.Slot
		want  Work
	}{
		{"a batch", 16, &plan.Attend{Heads: 2, LatDim: 60, PeDim: 4}, []plan.Slot{kv}, Work{PairFlops: 2 * 2 * 124, PairBytes: 128}},
		{"a prompt", 512, &plan.Attend{Heads: 2, LatDim: 60, PeDim: 4}, []plan.Slot{kv}, Work{PairFlops: 2 * 2 * 124, CachedBytes: 128}},
		{"a batch in splits", 16, &plan.Attend{Heads: 2, LatDim: 60, PeDim: 4, Cache: plan.Paged{Slot: 2}, Out: 0, ML: 1, Splits: splits}, []plan.Slot{arena, arena, kv},
			Work{PairFlops: 2 * 2 * 124, PairBytes: 128, SplitBytes: (sums + pairs) / 8, Splits: splits}},
		{"heads", 512, &plan.AttendHeads{Heads: 2, NopeDim: 8, PeDim: 4, VDim: 16}, []plan.Slot{heads}, Work{PairFlops: 2 * 2 * 28, CachedBytes: 4 * elements}},
		{"expanded", 512, &plan.ExpandHeads{W: 0, Heads: 2, Dim: 16, LatDim: 64, Cache: plan.Paged{Slot: 1}}, []plan.Slot{{Elem: plan.ElemTyped}, kv, heads},
			Work{CachedFlops: 2 * 2 * 16 * 64, Bytes: 2 * 16 * 68, CachedBytes: 128 + 4*elements}},
		{"a product", 16, &plan.MatVec{Product: plan.Product{Up: -1, Rows: 3, Cols: 64}, W: 0, Batch: 1}, []plan.Slot{{Elem: plan.ElemTyped}}, Work{RowFlops: 2 * 3 * 64, Bytes: 3 * 68}},
	} {
		c := &Command{Dispatch: &plan.Dispatch{Operands: []plan.Operand{{Bytes: 16 * sums}, {Bytes: 16 * pairs}, {}}}, Kernel: &plan.Kernel{Width: tt.width, Slots: tt.slots, Parts: []plan.Part{tt.part}}}
		for _, s := range tt.slots {
			c.Bindings = append(c.Bindings, Binding{Space: s.Space, Weight: q8})
		}
		got := m.Work(c, quant.F16)
		if got != tt.want {
			t.Errorf("%s: %+v; expected %+v", tt.name, got, tt.want)
		}
		// 3, 4 and 8 splits: of 16, of 16, and of 32 cache rows, where there is no room for more.
		flops, bytes := got.Of(Load{Rows: 3, Pairs: 50, Cached: 64, Depths: []int{40, 64, 250}})
		if want := 3*got.RowFlops + 50*got.PairFlops + 64*got.CachedFlops; flops != want || bytes != got.Bytes+50*got.PairBytes+64*got.CachedBytes+15*got.SplitBytes {
			t.Errorf("%s: %d operations, %d bytes", tt.name, flops, bytes)
		}
	}
}
