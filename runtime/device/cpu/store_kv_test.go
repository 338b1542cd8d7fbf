package cpu

import (
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

func TestStoreKV(t *testing.T) {
	for _, c := range []struct {
		kv   quant.Type
		elem plan.Elem
		bare bool
	}{{quant.F32, plan.ElemF32, false}, {quant.F16, plan.ElemF32, false}, {quant.F16, plan.ElemF16, false}, {quant.F32, plan.ElemF32, true}} {
		rg := newRig(t, 10)
		rg.kv, rg.ctx = c.kv, 130 // the row is in the second page
		p := &plan.StoreKV{LatDim: 10, PeDim: 6}
		kv, x := rg.in(c.elem, 17)
		p.Lat, p.KPe = plan.Vec{Slot: kv, Offset: 1}, plan.Vec{Slot: kv, Offset: 11}
		p.Cache = rg.cache(true)
		lat, pe := x[1:11], x[11:]
		if !c.bare {
			p.Norm = &plan.Norm{Eps: 1e-6}
			var weight []float64
			p.Norm.Weight, weight = rg.vector(10, 1)
			p.Rope = &plan.RopeAt{Table: rg.ropeSlot(), HeadDim: 6, Dim: 6}
			lat, pe = refNorm(lat, weight, 1e-6), refRope(pe, 6, rg.bundle.RopeFreqs, 1.25, 70)
		}
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{Pos: 70})
		tol := tolF32
		if c.kv == quant.F16 {
			tol = tolF16
		}
		cache := rg.linear(r, p.Cache.Slot, 16)
		check(t, "row", cache[70*16:71*16], append(append([]float64{}, lat...), pe...), tol)
		check(t, "before", cache[:70*16], make([]float64, 70*16), 0)
		check(t, "after", cache[71*16:], make([]float64, 59*16), 0)
	}
}
