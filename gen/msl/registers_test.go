package msl

import (
	"fmt"
	"slices"
	"testing"

	"mla/runtime/plan"
)

// attendShape is attention of some heads and columns by so many simdgroups.
type attendShape struct{ heads, lat, pe, simdgroups int }

func (s attendShape) kernel(name string) plan.Kernel {
	return attendKernel(name, s.heads, s.lat, s.pe, s.simdgroups, plan.Splits{Count: 3, Tile: 16})
}

// TestRegisters holds the estimates to variables counted by hand in
// templates/msl/attend.msl and attend_matrix.msl.
func TestRegisters(t *testing.T) {
	for _, tt := range []struct {
		class       string
		shape       attendShape
		tile        int // of the matrix form
		held, total [2]int
	}{
		// 20 heads are 3 blocks, 64 + 8 blocks of columns 8 and 1 a simdgroup, a tile 2 blocks of
		// rows. Sums 8*3*2, scores 2*3*2; queries 9*3, rows 9*2; 4 + 1 loads of 4. And the
		// loop's 20, a number per load, 2 for each of 2 turns of softmax.
		{"", attendShape{20, 512, 64, 8}, 16, [2]int{2*20 + 1 + 576/8 + 1, 48 + 12 + 27 + 18 + 20}, [2]int{114 + 20, 125 + 20 + 5 + 4}},
		{"", attendShape{16, 512, 64, 8}, 16, [2]int{2*16 + 1 + 576/16 + 1, 32 + 8 + 18 + 18 + 20}, [2]int{70 + 20, 96 + 20 + 5 + 2}},
		// 6 + 1 blocks of columns a simdgroup and one block of rows.
		{plan.ClassApple7, attendShape{20, 512, 64, 11}, 8, [2]int{2*20 + 1 + 53 + 1, 36 + 6 + 21 + 7 + 12}, [2]int{95 + 20, 82 + 20 + 3 + 2}},
	} {
		k := tt.shape.kernel("k")
		k.Class = tt.class
		r, err := AttentionRegisters(&k)
		if err != nil || len(r) != 2 || r[0].Form != PlainForm || r[1].Form != MatrixForm || r[1].Tile != tt.tile {
			t.Fatalf("%+v: %+v, %v", tt.shape, r, err)
		}
		for i, r := range r {
			if r.Held() != tt.held[i] || r.Total() != tt.total[i] {
				t.Errorf("%+v: %+v holds %d, %d in all; want %d and %d", tt.shape, r, r.Held(), r.Total(), tt.held[i], tt.total[i])
			}
		}
	}
	if r, err := AttentionRegisters(&plan.Kernel{Threads: 32, Parts: []plan.Part{&plan.AddVec{}}}); len(r) > 0 || err != nil {
		t.Errorf("no attention: %+v, %v", r, err)
	}
}

// TestSmaller: what is over a budget becomes a kernel that is not, with as many threads,
// more, or fewer; what keeps to it stays.
func TestSmaller(t *testing.T) {
	old := budgetOf(plan.ClassApple7)
	for _, tt := range []struct {
		shape   attendShape
		budget  *Budget
		threads int
	}{
		{attendShape{20, 512, 64, 8}, old, 352},
		{attendShape{16, 512, 64, 8}, old, 0},
		{attendShape{24, 64, 32, 2}, old, 64},                  // a smaller tile is enough
		{attendShape{16, 512, 64, 16}, old, 384},               // too many threads
		{attendShape{64, 512, 64, 16}, old, 0},                 // nothing keeps to it
		{attendShape{20, 512, 64, 8}, budgetOf(""), 0},         // its own
		{attendShape{7, 64, 16, 8}, &Budget{"", 8, 1024}, 0},   // 7 sums of results and one of a score, with any number
		{attendShape{7, 64, 16, 1}, &Budget{"", 30, 1024}, 64}, // 56 there, with two simdgroups 28
	} {
		k := tt.shape.kernel("k")
		threads, err := tt.budget.Smaller(&k)
		if err != nil || threads != tt.threads {
			t.Errorf("%+v, %+v: %d threads, %v; want %d", tt.shape, tt.budget, threads, err, tt.threads)
		}
		if threads == 0 {
			continue
		}
		k.Class, k.Threads = tt.budget.Class, threads
		r, err := AttentionRegisters(&k)
		if tt.budget == old && (err != nil || slices.ContainsFunc(r, func(r Registers) bool { return !old.Keeps(&r, threads) })) {
			t.Errorf("%+v: %+v, %v", tt.shape, r, err)
		}
	}
	k := attendShape{20, 512, 64, 8}.kernel("k")
	k.Tails = []plan.Tail{{}}
	if threads, err := old.Smaller(&k); threads != 0 || err != nil {
		t.Errorf("with a tail: %d threads, %v", threads, err)
	}
}

// TestAttentionTiles runs attention with each tile that a budget can lead to, and GLM's as
// the older GPUs do, in both forms.
func TestAttentionTiles(t *testing.T) {
	shipped := Budgets
	t.Cleanup(func() { Budgets = shipped })
	b := &plan.Bundle{Name: "tiles", Activations: plan.ElemF32}
	for _, shape := range []attendShape{{24, 64, 32, 2}, {9, 256, 32, 8}, {2, 40, 8, 1}} {
		for tile := block; tile <= simdWidth; tile *= 2 {
			k := shape.kernel(fmt.Sprintf("attend_%d_%d", shape.heads, tile))
			values := ceil(shape.lat/block, shape.simdgroups)
			r := matrixRegisters(k.Parts[0].(*plan.Attend), k.Threads, tile, values+ceil(shape.pe/block, shape.simdgroups), values)
			k.Class = k.Name
			Budgets = append(Budgets, Budget{k.Class, r.Held(), maxThreads})
			if m := matrixShape(k.Parts[0].(*plan.Attend), k.Threads, budgetOf(k.Class)); m == nil || m.Tile != tile {
				t.Fatalf("%+v with %d registers: %+v", shape, r.Held(), m)
			}
			b.Kernels = append(b.Kernels, k)
		}
	}
	glm := attendShape{20, 512, 64, 11}.kernel("attend_glm")
	glm.Class = plan.ClassApple7
	b.Kernels = append(b.Kernels, glm)
	e := executor(t, print(t, b))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for j := range k.Variants {
			for _, rows := range []int{1, 8, 9, 17, 33, 63} {
				m := newMemory(k, &k.Variants[j], b.Activations, rows-1)
				t.Run(fmt.Sprintf("%s/%d", k.Variants[j].Func, rows), func(t *testing.T) { m.execute(t, e, k.Variants[j].Func) })
			}
		}
	}
}
