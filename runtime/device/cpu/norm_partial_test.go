package cpu

import (
	"fmt"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
	"mla/runtime/quant"
)

// normPartial adds the first half of a norm of n results, and returns the weights.
func (rg *rig) normPartial(n, group int) (*plan.NormPartial, []float64) {
	h := &plan.NormPartial{Ready: rg.out(plan.ElemF32, n), Squares: rg.out(plan.ElemF32, n/group), Group: group}
	var w []float64
	h.Weight, w = rg.vector(n, 1)
	return h, w
}

// checkNormPartial compares the first half of a norm with results y.
func (rg *rig) checkNormPartial(t *testing.T, r *runner, h *plan.NormPartial, weight, y []float64) {
	t.Helper()
	ready, squares := formula.NormPartial(y, weight, h.Group)
	check(t, "ready", rg.read(r, h.Ready, len(ready)), ready, tolerance(plan.ElemF32))
	check(t, "squares", rg.read(r, h.Squares, len(squares)), squares, tolerance(plan.ElemF32))
}

// TestNormPartial checks both halves of a norm around a mat-vec, also if the plain result is not stored or a
// worker's rows do not fit its scratch memory.
func TestNormPartial(t *testing.T) {
	for _, c := range []struct {
		rows, perGroup, group int
		stored, add           bool
	}{
		{rows: 64, perGroup: 8, group: 4, stored: true, add: true},
		{rows: 96, perGroup: 32, group: 32},
		{rows: 1200, perGroup: 600, group: 2, stored: true},
		{rows: 40, perGroup: 40, group: 1, add: true},
	} {
		t.Run(fmt.Sprint(c.rows), func(t *testing.T) {
			rg := newRig(t, 5)
			const cols, eps = 64, 1e-2
			p := &plan.MatVec{Product: plan.Product{Rows: c.rows, Cols: cols, RowsPerGroup: c.perGroup, Up: -1, Out: plan.Vec{Slot: -1}}, Batch: 1, Add: -1}
			var w, x, res, next []float64
			p.W, w = rg.weight(quant.Q4_0, 1, c.rows, cols)
			p.In.Slot, x = rg.in(plan.ElemF32, cols)
			squares := rg.normal(16, 1)
			total := 0.0
			for i, v := range squares {
				squares[i] = v * v
			}
			p.NormApply = &plan.NormApply{Count: 16, Eps: eps}
			p.NormApply.Squares, squares = rg.buffer(plan.ElemF32, false, squares)
			for _, v := range squares {
				total += v
			}
			if c.stored {
				p.Out.Slot = rg.out(plan.ElemF32, c.rows)
			}
			if c.add {
				p.Add, res = rg.in(plan.ElemF32, c.rows)
			}
			p.NormPartial, next = rg.normPartial(c.rows, c.group)
			rg.kernel.Parts = []plan.Part{p}
			r := rg.run(plan.Row{})
			for i := range x {
				x[i] *= formula.NormFactor(total, cols, eps)
			}
			want := multiplied(w, 0, c.rows, cols, x)
			for i := range res {
				want[i] += res[i]
			}
			if c.stored {
				check(t, "out", rg.read(r, p.Out.Slot, c.rows), want, tolerance(plan.ElemF32))
			}
			rg.checkNormPartial(t, r, p.NormPartial, next, want)
		})
	}
}

// TestEmbedNormPartial checks that the embedding makes the first half of a norm as a mat-vec does.
func TestEmbedNormPartial(t *testing.T) {
	rg := newRig(t, 6)
	const dim = 96
	p := &plan.Embed{Dim: dim, RowsPerGroup: 32, Out: plan.Vec{Slot: rg.out(plan.ElemF32, dim)}}
	var w []float64
	p.W, w = rg.weight(quant.Q8_0, 1, rg.bundle.Model.VocabSize, dim)
	var next []float64
	p.NormPartial, next = rg.normPartial(dim, 8)
	rg.kernel.Parts = []plan.Part{p}
	r := rg.run(plan.Row{Token: 3})
	want := w[3*dim:][:dim]
	check(t, "out", rg.read(r, p.Out.Slot, dim), want, tolerance(plan.ElemF32))
	rg.checkNormPartial(t, r, p.NormPartial, next, want)
}
