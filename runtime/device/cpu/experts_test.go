package cpu

import (
	"fmt"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
	"mla/runtime/quant"
)

func TestExperts(t *testing.T) {
	const n, k, rows, cols = 6, 3, 45, 64
	for _, c := range []struct {
		w, up    quant.Type
		elem     plan.Elem
		gate, in bool // gating recomputed; one input per expert
	}{
		{quant.Q4_0, quant.Q4_0, plan.ElemF32, true, false},
		{quant.Q8_0, quant.Q5_0, plan.ElemF16, true, false},
		{quant.F16, quant.F32, plan.ElemAct, false, true},
	} {
		t.Run(fmt.Sprintf("%v-%v", c.w, c.up), func(t *testing.T) {
			rg := newRig(t, 12)
			rg.bundle.Model.MoE.NRoutedExperts = n
			p := &plan.Experts{Product: plan.Product{Rows: rows, Cols: cols, RowsPerGroup: 4}, K: k}
			var w, up, x, weight []float64
			p.W, w = rg.weight(c.w, n, rows, cols)
			p.Up, up = rg.weight(c.up, n, rows, cols)
			p.Out = plan.Vec{Slot: rg.out(c.elem, k*rows), Stride: rows}
			choice := []int{5, 0, 3}
			if c.in {
				p.In.Slot, x = rg.in(c.elem, k*cols)
				p.In.Stride = cols
			} else {
				p.In.Slot, x = rg.in(c.elem, cols)
				p.Norm = &plan.Norm{Eps: 1e-6}
				p.Norm.Weight, weight = rg.vector(cols, 1)
			}
			if c.gate {
				g := plan.Gating{Experts: n, K: k, Scale: 1, Groups: 1, KGroups: 1, Bias: -1}
				var logits []float64
				g.Logits, logits = rg.in(plan.ElemF32, n)
				choice, _ = formula.Gate[float64](&g, logits, nil)
				p.Gating = &g
				p.Routing = rg.routing(true, make([]plan.Routing, k)...)
			} else {
				p.Routing = rg.routing(false, plan.Routing{Expert: 5}, plan.Routing{}, plan.Routing{Expert: 3})
			}
			rg.kernel.Parts = []plan.Part{p}
			r := rg.run(plan.Row{})
			got := rg.read(r, p.Out.Slot, k*rows)
			for i, e := range choice {
				in := x[:cols]
				if c.in {
					in = x[i*cols : (i+1)*cols]
				} else {
					in = formula.Norm(in, weight, 1e-6)
				}
				want := formula.SwiGLU(multiplied(w, e, rows, cols, in), multiplied(up, e, rows, cols, in), 0)
				check(t, fmt.Sprintf("expert %d", e), got[i*rows:(i+1)*rows], want, tolerance(c.elem))
			}
			for i, e := range view[plan.Routing](r.Spaces[plan.SpaceArena][rg.ops[p.Routing].Offset:][:8*k]) {
				if int(e.Expert) != choice[i] {
					t.Errorf("routing %d: expert %d, want %d", i, e.Expert, choice[i])
				}
			}
		})
	}
}
