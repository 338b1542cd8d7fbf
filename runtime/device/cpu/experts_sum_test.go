package cpu

import (
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

func TestExpertsSum(t *testing.T) {
	const n, k, rows, cols, sharedCols = 5, 2, 301, 32, 96
	for _, c := range []struct {
		elem        plan.Elem
		shared, add bool
	}{{plan.ElemF32, true, true}, {plan.ElemF16, true, true}, {plan.ElemF32, false, false}} {
		rg := newRig(t, 13)
		rg.bundle.Model.MoE.NRoutedExperts = n
		p := &plan.ExpertsSum{Product: plan.Product{Rows: rows, Cols: cols, RowsPerGroup: 8, Up: -1}, K: k, Shared: -1, Add: -1, SharedCols: sharedCols}
		var w, shared, x, sx, res []float64
		p.W, w = rg.weight(quant.Q4_0, n, rows, cols)
		p.In.Slot, x = rg.in(c.elem, k*cols)
		p.In.Stride = cols
		p.Routing = rg.routing(false, plan.Routing{Expert: 4, Weight: 0.75}, plan.Routing{Expert: 1, Weight: -0.5})
		p.Out.Slot = rg.out(plan.ElemF32, rows)
		if c.shared {
			p.Shared, shared = rg.weight(quant.Q8_0, 1, rows, sharedCols)
			p.SharedIn.Slot, sx = rg.in(c.elem, sharedCols)
		}
		if c.add {
			p.Add, res = rg.in(plan.ElemF32, rows)
		}
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		a, b := multiplied(w, 4, rows, cols, x), multiplied(w, 1, rows, cols, x[cols:])
		want := make([]float64, rows)
		for i := range want {
			want[i] = 0.75*a[i] - 0.5*b[i]
			if c.add {
				want[i] += res[i]
			}
		}
		if c.shared {
			for i, v := range multiplied(shared, 0, rows, sharedCols, sx) {
				want[i] += v
			}
		}
		check(t, "sum", rg.read(r, p.Out.Slot, rows), want, productTolerance(c.elem))
	}
}

// TestFaultyRouting checks a plan that reads routings where there are none.
func TestFaultyRouting(t *testing.T) {
	rg := newRig(t, 14)
	rg.bundle.Model.MoE.NRoutedExperts = 3
	p := &plan.ExpertsSum{Product: plan.Product{Rows: 40, Cols: 32, RowsPerGroup: 2, Up: -1}, K: 1, Shared: -1, Add: -1}
	p.W, _ = rg.weight(quant.Q4_0, 3, 40, 32)
	p.In.Slot, _ = rg.in(plan.ElemF32, 32)
	p.Routing = rg.routing(false, plan.Routing{Expert: 3})
	p.Out.Slot = rg.out(plan.ElemF32, 40)
	rg.kernel.Parts = []plan.Part{p}
	for threads := 1; threads <= 2; threads++ {
		r, err := rg.record(threads)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Replay([]plan.Row{{NKV: 1}}, device.All(1)); err == nil || !strings.Contains(err.Error(), "expert 3 of 3") {
				t.Errorf("error %v", err)
			}
		}
	}
}
