package cpu

import (
	"testing"

	"mla/runtime/plan"
)

func TestWeightedSum(t *testing.T) {
	for _, e := range []plan.Elem{plan.ElemF32, plan.ElemF16} {
		rg := newRig(t, 8)
		p := &plan.WeightedSum{K: 3, Dim: 101, RowsPerGroup: 16}
		var x []float64
		p.In.Slot, x = rg.in(e, 303)
		p.In.Stride = 101
		p.Out.Slot = rg.out(e, 101)
		weights := []float64{0.5, 0.25, -2}
		p.Routing = rg.routing(false, plan.Routing{Expert: 4, Weight: 0.5}, plan.Routing{Expert: 1, Weight: 0.25}, plan.Routing{Weight: -2})
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		want := make([]float64, 101)
		for i, w := range weights {
			for j := range want {
				want[j] += w * x[i*101+j]
			}
		}
		check(t, "sum", rg.read(r, p.Out.Slot, 101), want, tolerance(e))
	}
}
