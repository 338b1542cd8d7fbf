package cpu

import (
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
)

func TestSwiGLUVec(t *testing.T) {
	for _, e := range []plan.Elem{plan.ElemF32, plan.ElemF16} {
		rg := newRig(t, 6)
		p := &plan.SwiGLUVec{Dim: 777, RowsPerGroup: 10}
		var gate, up []float64
		p.Gate.Slot, gate = rg.in(e, 777)
		p.Up.Slot, up = rg.in(e, 777)
		p.Out.Slot = rg.out(e, 777)
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		check(t, "swiglu", rg.read(r, p.Out.Slot, 777), formula.SwiGLU(gate, up, 0), tolerance(e))
	}
}
