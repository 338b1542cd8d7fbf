package msl

import (
	"slices"
	"testing"

	"mla/gen/target"
	"mla/runtime/plan"
)

// attendShape is attention of some heads and columns by a given number of simdgroups.
type attendShape struct{ heads, lat, pe, simdgroups int }

func (s attendShape) kernel(name string) plan.Kernel {
	return attendKernel(name, s.heads, s.lat, s.pe, s.simdgroups, plan.Splits{Count: 3, Tile: 16})
}

// TestRegisters holds the estimates to variables counted by hand in
// templates/msl/lib/attend.metal and attend_matrix.metal.
func TestRegisters(t *testing.T) {
	for _, tt := range []struct {
		class       string
		shape       attendShape
		tiles       [2]int // of the matrix forms, on halves and on Q8_0
		held, total [3]int
	}{
		// 20 heads are 3 blocks, 64 + 8 blocks of columns 8 and 1 a simdgroup, a tile 2 blocks of
		// rows. Sums 8*3*2, scores 2*3*2; queries 9*3, rows 9*2; 4 + 1 loads of 4. And the
		// loop's 20, a number per load, 2 for each of 2 turns of softmax.
		// Of Q8_0 a tile is 4 blocks of rows: twice as many scores and rows, and 4 loads of 4
		// registers and one of 2, each with a scale; 3 turns of softmax.
		{"", attendShape{20, 512, 64, 8}, [2]int{16, 32}, [3]int{2*20 + 1 + 576/8 + 1, 48 + 12 + 27 + 18 + 20, 48 + 24 + 27 + 36 + 23}, [3]int{114 + 20, 125 + 20 + 5 + 4, 158 + 20 + 5 + 6}},
		{"", attendShape{16, 512, 64, 8}, [2]int{16, 32}, [3]int{2*16 + 1 + 576/16 + 1, 32 + 8 + 18 + 18 + 20, 32 + 16 + 18 + 36 + 23}, [3]int{70 + 20, 96 + 20 + 5 + 2, 125 + 20 + 5 + 4}},
		// 6 + 1 blocks of columns a simdgroup and one block of rows; of Q8_0 two, and 2 + 1 loads.
		{plan.ClassApple7, attendShape{20, 512, 64, 11}, [2]int{8, 16}, [3]int{2*20 + 1 + 53 + 1, 36 + 6 + 21 + 7 + 12, 36 + 12 + 21 + 14 + 13}, [3]int{95 + 20, 82 + 20 + 3 + 2, 96 + 20 + 3 + 2}},
	} {
		k := tt.shape.kernel("k")
		k.Class = tt.class
		r, err := AttentionRegisters(target.For(""), &k)
		if err != nil || len(r) != 3 || r[0].Form != PlainForm || r[1].Form != MatrixForm || r[2].Form != MatrixForm || [2]int{r[1].Tile, r[2].Tile} != tt.tiles {
			t.Fatalf("%+v: %+v, %v", tt.shape, r, err)
		}
		for i, r := range r {
			if r.Held() != tt.held[i] || r.Total() != tt.total[i] {
				t.Errorf("%+v: %+v holds %d, %d in all; want %d and %d", tt.shape, r, r.Held(), r.Total(), tt.held[i], tt.total[i])
			}
		}
	}
	if r, err := AttentionRegisters(target.For(""), &plan.Kernel{Threads: 32, Parts: []plan.Part{&plan.AddVec{}}}); len(r) > 0 || err != nil {
		t.Errorf("no attention: %+v, %v", r, err)
	}
}

// TestSmaller checks that a kernel above a register budget becomes one within it, with the same number of
// threads, more, or fewer, and that a kernel within the budget is not changed.
func TestSmaller(t *testing.T) {
	old := target.For("").Budget(plan.ClassApple7)
	for _, tt := range []struct {
		shape   attendShape
		budget  *target.Budget
		threads int
	}{
		{attendShape{20, 512, 64, 8}, old, 352},
		{attendShape{16, 512, 64, 8}, old, 256}, // on Q8_0, a smaller tile
		{attendShape{16, 512, 16, 8}, old, 0},
		{attendShape{24, 64, 32, 2}, old, 64},                                                     // a smaller tile is enough
		{attendShape{16, 512, 64, 16}, old, 384},                                                  // too many threads
		{attendShape{64, 512, 64, 16}, old, 0},                                                    // nothing keeps to it
		{attendShape{20, 512, 64, 8}, target.For("").Budget(""), 0},                               // its own
		{attendShape{7, 64, 16, 8}, &target.Budget{Registers: 8, Scaled: 8, Threads: 1024}, 0},    // 7 sums of results and one of a score, with any number
		{attendShape{7, 64, 16, 1}, &target.Budget{Registers: 30, Scaled: 30, Threads: 1024}, 64}, // 56 there, with two simdgroups 28
	} {
		k := tt.shape.kernel("k")
		threads, err := Smaller(target.For(""), tt.budget, &k)
		if err != nil || threads != tt.threads {
			t.Errorf("%+v, %+v: %d threads, %v; want %d", tt.shape, tt.budget, threads, err, tt.threads)
		}
		if threads == 0 {
			continue
		}
		k.Class, k.Threads = tt.budget.Class, threads
		r, err := AttentionRegisters(target.For(""), &k)
		if tt.budget == old && (err != nil || slices.ContainsFunc(r, func(r Registers) bool { return !r.Keeps(old, threads) })) {
			t.Errorf("%+v: %+v, %v", tt.shape, r, err)
		}
	}
}

// TestHeadsRegisters: attention over heads of 192 and 128 columns keeps to the registers of every
// Apple GPU in the shape that specs have unless they say otherwise, and on NVIDIA's GPUs to 255 in
// theirs. In the shape of any device GLM-4.7-Flash's heads of 256 columns are over what the oldest GPUs have, not in that
// of class apple.
func TestHeadsRegisters(t *testing.T) {
	for _, s := range []struct {
		class                                string
		dk, v, rows, simdgroups, split, tile int
		want                                 int
		old                                  bool
	}{
		{"", 192, 128, 8, 8, 2, 32, 36 + 28 + 12, true},
		{"", 192, 128, 16, 8, 2, 32, 72 + 52 + 12, false},
		{"", 256, 256, 8, 8, 2, 16, 66 + 34 + 8, false},
		{"", 256, 256, 16, 4, 1, 16, 136 + 68 + 16, false},
		{target.MetalClass, 192, 128, 32, 8, 8, 64, 24 + 13, true},
		{target.MetalClass, 256, 256, 32, 8, 8, 64, 40 + 13, true},
	} {
		p := &plan.AttendHeads{NopeDim: s.dk - 64, PeDim: 64, VDim: s.v, RowsPerGroup: s.rows * s.simdgroups / s.split, SplitK: s.split, Tile: s.tile}
		forms, err := AttentionRegisters(target.For(s.class), &plan.Kernel{Threads: 32 * s.simdgroups, Parts: []plan.Part{p}})
		if err != nil || len(forms) != 1 || forms[0].Held() != s.want {
			t.Fatalf("%+v: %+v, %v", s, forms, err)
		}
		if got := forms[0].Keeps(target.For("").Budget(plan.ClassApple7), 32*s.simdgroups); got != s.old || forms[0].Held() > 255 {
			t.Errorf("%+v: keeps to the budget of old GPUs: %v", s, got)
		}
	}
}
