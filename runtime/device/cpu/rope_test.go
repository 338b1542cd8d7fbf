package cpu

import (
	"testing"

	"mla/runtime/plan"
)

func TestRopeVec(t *testing.T) {
	for _, e := range []plan.Elem{plan.ElemF32, plan.ElemAct} {
		rg := newRig(t, 5)
		p := &plan.RopeVec{Heads: 3}
		var x []float64
		p.In.Slot, x = rg.in(e, 30)
		p.In.Stride = 10
		p.Out = plan.Vec{Slot: rg.out(e, 30), Stride: 10}
		p.Rope = plan.RopeAt{Table: rg.ropeSlot(), HeadDim: 10, Dim: 6}
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{Pos: 7})
		check(t, "rope", rg.read(r, p.Out.Slot, 30), rotated(x, 10, rg.bundle.RopeFreqs, 1.25, 7), tolerance(e))
	}
}
