package cpu

import (
	"slices"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

func TestEmbed(t *testing.T) {
	for _, q := range []quant.Type{quant.F32, quant.Q4_0, quant.Q6_K} {
		rg := newRig(t, 9)
		p := &plan.Embed{Dim: 256, RowsPerGroup: 24, Scale: 12}
		var w []float64
		p.W, w = rg.weight(q, 1, 7, 256)
		p.Out.Slot = rg.out(plan.ElemF32, 256)
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{Token: 6})
		want := slices.Clone(w[6*256:])
		for i := range want {
			want[i] *= 12
		}
		check(t, "row", rg.read(r, p.Out.Slot, 256), want, 1e-6) // one rounding to float32 of numbers near 12
	}
}
