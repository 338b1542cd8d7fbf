package cpu

import (
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
)

func TestNormVec(t *testing.T) {
	for _, e := range []plan.Elem{plan.ElemF32, plan.ElemF16} {
		rg := newRig(t, 4)
		p := &plan.NormVec{Dim: 77, Norm: plan.Norm{Eps: 1e-5}}
		var x, weight []float64
		p.In.Slot, x = rg.in(e, 80)
		p.In.Offset = 3
		p.Norm.Weight, weight = rg.vector(77, 1)
		p.Out.Slot = rg.out(e, 77)
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		check(t, "norm", rg.read(r, p.Out.Slot, 77), formula.Norm(x[3:], weight, 1e-5), tolerance(e))
	}
}
