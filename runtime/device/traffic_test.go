package device

import (
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestTraffic compares the count of bytes with numbers that were computed by hand.
func TestTraffic(t *testing.T) {
	b := &plan.Bundle{Model: plan.Model{Dims: plan.Dims{VocabSize: 100, KVLoraRank: 60, QKRopeHeadDim: 4}, MoE: plan.MoE{NRoutedExperts: 16, NumExpertsPerTok: 4}}}
	q8 := &Weight{Type: quant.Q8_0} // 34 bytes for 32 elements
	norm := &Weight{Type: quant.F32, Bytes: 256}
	weight, arena := plan.Slot{Elem: plan.ElemTyped}, plan.Slot{Space: plan.SpaceArena}
	splits := plan.Splits{Count: 8, Tile: 16}
	for _, tt := range []struct {
		name  string
		part  plan.Part
		slots []plan.Slot
		bytes []int64 // of operands in the arena
		bound []*Weight
		rows  int
		want  int64
	}{
		{"mat-vec", &plan.MatVec{Product: plan.Product{Up: -1, Rows: 3, Cols: 64}, W: 0, Batch: 2}, []plan.Slot{weight, {}, arena, arena}, []int64{0, 0, 100, 200}, []*Weight{q8, norm, nil, nil}, 1,
			2*3*68 + 256 + 300},
		{"gated", &plan.MatVec{Product: plan.Product{Up: 1, Rows: 3, Cols: 64}, W: 0, Batch: 1}, []plan.Slot{weight, weight}, []int64{0, 0}, []*Weight{q8, q8}, 1, 2 * 3 * 68},
		{"experts", &plan.Experts{Product: plan.Product{Up: 0, Rows: 5, Cols: 32}, W: 0, K: 4}, []plan.Slot{weight}, []int64{0}, []*Weight{q8}, 1, 2 * 4 * 5 * 34},
		{"sum", &plan.ExpertsSum{Product: plan.Product{Rows: 5, Cols: 32, Up: -1}, W: 0, K: 4, Shared: 0, SharedCols: 64}, []plan.Slot{weight}, []int64{0}, []*Weight{q8}, 1, 4*5*34 + 5*68},
		{"experts of several rows", &plan.Experts{Product: plan.Product{Up: -1, Rows: 5, Cols: 32}, W: 0, K: 4}, []plan.Slot{weight}, []int64{0}, []*Weight{q8}, 1, 7 * 5 * 34}, // 16 (1 - 3/4 · 3/4) of 16
		{"embedding", &plan.Embed{W: 0, Dim: 64}, []plan.Slot{weight}, []int64{0}, []*Weight{q8}, 1, 68},
		{"attention", &plan.Attend{Out: 1, ML: 2, Splits: splits}, []plan.Slot{{Space: plan.SpaceKV}, arena, arena}, []int64{0, 800, 80}, []*Weight{nil, nil, nil}, 33,
			33*128 + 300 + 30}, // 3 splits of 16 rows
		{"combine", &plan.MatVec{Product: plan.Product{Up: -1, Rows: 1, Cols: 32, Combine: &plan.Combine{Out: 1, ML: 2, Splits: splits}}, W: 0, Batch: 1},
			[]plan.Slot{weight, arena, arena}, []int64{0, 800, 80}, []*Weight{q8, nil, nil}, 1000, 34 + 800 + 80},
		{"cache row", &plan.StoreKV{}, []plan.Slot{{Space: plan.SpaceKV, Write: true}, {Space: plan.SpaceRope}, {Space: plan.SpaceRow}}, []int64{0, 0, 0}, []*Weight{nil, nil, nil}, 1000, 128 + 16},
		{"logits", &plan.NormVec{}, []plan.Slot{{Space: plan.SpaceLogits, Write: true}}, []int64{0}, []*Weight{nil}, 1, 400},
	} {
		d := &plan.Dispatch{}
		c := &Command{Dispatch: d, Kernel: &plan.Kernel{Slots: tt.slots, Parts: []plan.Part{tt.part}}}
		if strings.Contains(tt.name, "several rows") {
			c.Kernel.Width = 2
		}
		for i := range tt.slots {
			d.Operands = append(d.Operands, plan.Operand{Space: tt.slots[i].Space, Bytes: tt.bytes[i]})
			c.Bindings = append(c.Bindings, Binding{Space: tt.slots[i].Space, Weight: tt.bound[i]})
		}
		if got := (&Model{Bundle: b}).Traffic(c, quant.F16, tt.rows); got != tt.want {
			t.Errorf("%s: %d bytes; expected %d", tt.name, got, tt.want)
		}
	}
}
