package cpu

import (
	"testing"

	"mla/runtime/plan"
)

func TestAddVec(t *testing.T) {
	for _, e := range []plan.Elem{plan.ElemF32, plan.ElemF16} {
		rg := newRig(t, 7)
		p := &plan.AddVec{Dim: 301, RowsPerGroup: 8}
		var x, y []float64
		p.A.Slot, x = rg.in(e, 301)
		p.B.Slot, y = rg.in(plan.ElemF32, 301)
		p.Out.Slot = rg.out(e, 301)
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		want := make([]float64, 301)
		for i := range want {
			want[i] = x[i] + y[i]
		}
		check(t, "sum", rg.read(r, p.Out.Slot, 301), want, tolerance(e))
	}
}
