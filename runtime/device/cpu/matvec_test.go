package cpu

import (
	"fmt"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
	"mla/runtime/quant"
)

func TestMatVec(t *testing.T) {
	for _, c := range []struct {
		q, up             quant.Type
		batch, rows, cols int
		perGroup          int
		elem              plan.Elem
		norm, swiglu, add bool
		rope, alias, relu bool
		offset            int
	}{
		{q: quant.F32, batch: 1, rows: 7, cols: 5, perGroup: 2},
		{q: quant.F16, batch: 1, rows: 300, cols: 33, perGroup: 4, norm: true},
		{q: quant.Q4_0, batch: 1, rows: 513, cols: 96, perGroup: 8, norm: true, add: true},
		{q: quant.Q4_0, batch: 3, rows: 70, cols: 32, perGroup: 8, norm: true, add: true},
		{q: quant.Q8_0, batch: 1, rows: 601, cols: 320, perGroup: 300, swiglu: true, up: quant.Q5_0},
		{q: quant.Q4_K, batch: 1, rows: 600, cols: 512, perGroup: 6, rope: true},
		{q: quant.Q6_K, batch: 2, rows: 24, cols: 256, perGroup: 2, rope: true, elem: plan.ElemF16},
		{q: quant.BF16, batch: 2, rows: 31, cols: 17, perGroup: 3, elem: plan.ElemAct, norm: true, swiglu: true, up: quant.F16},
		{q: quant.Q4_0, batch: 1, rows: 65, cols: 64, perGroup: 4, elem: plan.ElemAct, add: true, offset: 3},
		{q: quant.Q4_0, batch: 1, rows: 130, cols: 64, perGroup: 8, norm: true, relu: true},
		{q: quant.Q5_1, batch: 1, rows: 4000, cols: 64, perGroup: 4, add: true, alias: true},
	} {
		t.Run(fmt.Sprintf("%s-%dx%dx%d", c.q, c.batch, c.rows, c.cols), func(t *testing.T) {
			rg := newRig(t, 3)
			p := &plan.MatVec{Product: plan.Product{Rows: c.rows, Cols: c.cols, RowsPerGroup: c.perGroup, Up: -1}, Batch: c.batch, Add: -1}
			var w, up, x, weight, res []float64
			p.W, w = rg.weight(c.q, c.batch, c.rows, c.cols)
			p.In.Slot, x = rg.in(c.elem, c.offset+c.batch*(c.cols+1))
			p.In.Offset, p.In.Stride = c.offset, c.cols+1
			p.Out = plan.Vec{Slot: rg.out(c.elem, c.offset+c.batch*(c.rows+2)), Offset: c.offset, Stride: c.rows + 2}
			if c.swiglu {
				p.Up, up = rg.weight(c.up, c.batch, c.rows, c.cols)
			}
			if c.norm {
				p.Norm = &plan.Norm{Eps: 1e-2}
				p.Norm.Weight, weight = rg.vector(c.cols, 1)
			}
			if c.rope {
				p.Rope = &plan.RopeAt{Table: rg.ropeSlot(), HeadDim: 12, Dim: 6}
			}
			p.SquaredReLU = c.relu
			if c.add {
				p.Add, res = rg.in(c.elem, c.offset+c.batch*(c.rows+2))
			}
			if c.alias { // the residual is added in place
				p.Out.Slot = p.Add
				rg.kernel.Slots[p.Add].Write = true
			}
			rg.kernel.Parts = []plan.Part{p}
			r := rg.run(plan.Row{Pos: 5})
			got := rg.read(r, p.Out.Slot, c.offset+c.batch*p.Out.Stride)
			for b := range c.batch {
				in := x[c.offset+b*(c.cols+1):][:c.cols]
				if c.norm {
					in = formula.Norm(in, weight, 1e-2)
				}
				want := multiplied(w, b, c.rows, c.cols, in)
				if c.swiglu {
					want = formula.SwiGLU(want, multiplied(up, b, c.rows, c.cols, in), 0)
				}
				if c.rope {
					want = rotated(want, 12, rg.bundle.RopeFreqs, rg.bundle.RopeMScale, 5)
				}
				at := c.offset + b*p.Out.Stride
				for i := range want {
					if c.relu {
						want[i] = max(want[i], 0) * max(want[i], 0)
					}
					if c.add {
						want[i] += res[at+i]
					}
				}
				check(t, fmt.Sprintf("out %d", b), got[at:at+c.rows], want, productTolerance(c.elem))
			}
		})
	}
}
