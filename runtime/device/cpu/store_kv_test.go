package cpu

import (
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
	"mla/runtime/quant"
)

func TestStoreKV(t *testing.T) {
	for _, c := range []struct {
		kv   quant.Type
		elem plan.Elem
		bare bool
	}{{quant.F32, plan.ElemF32, false}, {quant.F16, plan.ElemF32, false}, {quant.F16, plan.ElemF16, false}, {quant.F32, plan.ElemF32, true}, {quant.Q8_0, plan.ElemF32, false}, {quant.Q8_0, plan.ElemF16, true}} {
		rg := newRig(t, 10)
		rg.kv, rg.ctx = c.kv, 130 // the row is in the second page
		if c.kv == quant.Q8_0 {
			rg.bundle.Model.KVLoraRank = 64
			rg.wide()
		}
		p := &plan.StoreKV{LatDim: rg.bundle.Model.KVLoraRank, PeDim: rg.bundle.Model.QKRopeHeadDim}
		width := p.LatDim + p.PeDim
		kv, x := rg.in(c.elem, 1+width)
		p.Lat, p.KPe = plan.Vec{Slot: kv, Offset: 1}, plan.Vec{Slot: kv, Offset: 1 + p.LatDim}
		p.Cache = rg.cache(true)
		lat, pe := x[1:1+p.LatDim], x[1+p.LatDim:]
		if !c.bare {
			p.Norm = &plan.Norm{Eps: 1e-6}
			var weight []float64
			p.Norm.Weight, weight = rg.vector(p.LatDim, 1)
			p.Rope = &plan.RopeAt{Table: rg.ropeSlot(), HeadDim: p.PeDim, Dim: p.PeDim}
			lat, pe = formula.Norm(lat, weight, 1e-6), rotated(pe, p.PeDim, rg.bundle.RopeFreqs, 1.25, 70)
		}
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{Pos: 70})
		tol := tolF32
		row := append(append([]float64{}, lat...), pe...)
		switch c.kv {
		case quant.F16:
			tol = tolF16
		case quant.Q8_0: // half a step of 1/127 of the largest of 32, at most 4
			tol = 4.0 / 127 / 2
		}
		cache := rg.linear(r, p.Cache.Slot, width)
		check(t, "row", cache[70*width:71*width], row, tol)
		check(t, "before", cache[:70*width], make([]float64, 70*width), 0)
		check(t, "after", cache[71*width:], make([]float64, 59*width), 0)
	}
}
