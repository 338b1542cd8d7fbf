package msl

import (
	"cmp"
	"encoding/binary"
	"math"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/plan/formula"
)

// run computes a part in float64, straight from the comments in runtime/plan.
func (m *memory) run(p plan.Part) {
	switch p := p.(type) {
	case *plan.MatVec:
		for b := range p.Batch {
			x := m.factor(p.In, b, p.Cols, p.Norm, p.NormApply)
			if p.Combine != nil {
				x = factor{x: m.combine(p.Combine, b, p.Cols), scale: 1}
			}
			y := m.mul(p, p.W, p.Up, b, p.Rows, x)
			m.rope(p.Rope, y)
			for i := range y {
				if p.SquaredReLU {
					y[i] = formula.SquaredReLU(y[i])
				}
			}
			if p.Add >= 0 {
				formula.AddTo(y, m.vec(plan.Vec{Slot: p.Add, Offset: p.Out.Offset, Stride: p.Out.Stride}, b, p.Rows), 1)
			}
			m.store(p.Out, b, y, p.NormPartial)
		}
	case *plan.Experts:
		if p.Gating != nil {
			m.gate(p.Gating, p.Routing)
		}
		for i := range p.K {
			e, _ := m.routing(p.Routing, i)
			x := m.factor(p.In, i, p.Cols, p.Norm, p.NormApply)
			m.setVec(p.Out, i, m.mul(p, p.W, p.Up, e, p.Rows, x))
		}
	case *plan.ExpertsSum:
		y := make([]float64, p.Rows)
		for i := range p.K {
			e, w := m.routing(p.Routing, i)
			formula.AddTo(y, m.mul(p, p.W, -1, e, p.Rows, m.factor(p.In, i, p.Cols, nil, nil)), w)
		}
		if p.Shared >= 0 {
			formula.AddTo(y, m.mul(p, p.Shared, -1, 0, p.Rows, m.factor(p.SharedIn, 0, p.SharedCols, nil, nil)), 1)
		}
		if p.Add >= 0 {
			formula.AddTo(y, m.vec(plan.Vec{Slot: p.Add, Offset: p.Out.Offset}, 0, p.Rows), 1)
		}
		m.store(p.Out, 0, y, p.NormPartial)
	case *plan.StoreKV:
		pe := m.vec(p.KPe, 0, p.PeDim)
		m.rope(p.Rope, pe)
		row := append(m.input(p.Lat, 0, p.LatDim, p.Norm), pe...)
		m.setCached(cached(p.Cache, m.pos, len(row)), row)
	case *plan.Attend:
		m.attend(p)
	case *plan.RouteVec:
		m.gate(&p.Gating, p.Routing)
	default:
		m.runVector(p)
	}
}

// runVector computes the parts without a matrix.
func (m *memory) runVector(p plan.Part) {
	switch p := p.(type) {
	case *plan.Embed:
		row := m.row(p, p.W, p.Dim, 0, testToken)
		for i := range row {
			row[i] *= cmp.Or(p.Scale, 1)
		}
		m.store(p.Out, 0, row, p.NormPartial)
	case *plan.NormVec:
		m.setVec(p.Out, 0, m.input(p.In, 0, p.Dim, &p.Norm))
	case *plan.RopeVec:
		for h := range p.Heads {
			x := m.vec(p.In, h, p.Rope.HeadDim)
			m.rope(&p.Rope, x)
			m.setVec(p.Out, h, x)
		}
	case *plan.CombineVec:
		for h := range p.Combine.Heads {
			m.setVec(p.Out, h, m.combine(&p.Combine, h, p.Dim))
		}
	case *plan.SwiGLUVec:
		m.setVec(p.Out, 0, formula.SwiGLU(m.vec(p.Gate, 0, p.Dim), m.vec(p.Up, 0, p.Dim), 0))
	case *plan.AddVec:
		a := m.vec(p.A, 0, p.Dim)
		formula.AddTo(a, m.vec(p.B, 0, p.Dim), 1)
		m.setVec(p.Out, 0, a)
	case *plan.WeightedSum:
		y := make([]float64, p.Dim)
		for i := range p.K {
			_, w := m.routing(p.Routing, i)
			formula.AddTo(y, m.vec(p.In, i, p.Dim), w)
		}
		m.setVec(p.Out, 0, y)
	}
}

// input is a vector, normalised if n is not nil.
func (m *memory) input(v plan.Vec, e, n int, norm *plan.Norm) []float64 {
	x := m.vec(v, e, n)
	if norm == nil {
		return x
	}
	return formula.Norm(x, m.vec(plan.Vec{Slot: norm.Weight}, 0, n), norm.Eps)
}

// factor is an operand of a mat-vec, and the factor of its results.
type factor struct {
	x      []float64
	halves bool
	scale  float64
}

// factor returns the input of a mat-vec, normalised if the mat-vec applies a norm or the second half of one.
func (m *memory) factor(v plan.Vec, e, n int, norm *plan.Norm, r *plan.NormApply) factor {
	f := factor{x: m.input(v, e, n, norm), halves: norm == nil && m.half(v.Slot), scale: 1}
	if r != nil {
		var sum float64
		for i := range r.Count {
			sum += m.at(r.Squares, i)
		}
		f.scale = formula.NormFactor(sum, n, r.Eps)
	}
	return f
}

// store sets a result and makes the first half of the next norm of it.
func (m *memory) store(out plan.Vec, e int, y []float64, h *plan.NormPartial) {
	if out.Slot >= 0 {
		m.setVec(out, e, y)
	}
	if h == nil {
		return
	}
	ready, squares := formula.NormPartial(y, m.vec(plan.Vec{Slot: h.Weight}, 0, len(y)), h.Group)
	m.setVec(plan.Vec{Slot: h.Ready}, 0, ready)
	m.setVec(plan.Vec{Slot: h.Squares}, 0, squares)
}

// mul is a mat-vec, with SwiGLU if up is a slot.
func (m *memory) mul(p plan.Part, w, up, entry, rows int, f factor) []float64 {
	product := func(w int) []float64 {
		y := make([]float64, rows)
		for r := range y {
			y[r] = m.product(p, w, entry, r, f)
		}
		return y
	}
	if up >= 0 {
		return formula.SwiGLU(product(w), product(up), 0)
	}
	return product(w)
}

// product is one row times f; halves are multiplied as package quant says.
func (m *memory) product(p plan.Part, w, entry, row int, f factor) float64 {
	if !f.halves {
		return f.scale * formula.Dot(m.row(p, w, len(f.x), entry, row), f.x)
	}
	x, y := make([]float32, len(f.x)), make([]float32, 1)
	for i, v := range f.x {
		x[i] = float32(v)
	}
	format, data := m.rowBytes(p, w, len(x), entry, row)
	linalg.RowsHalves(format, data, len(data), x, y)
	return f.scale * float64(y[0])
}

func (m *memory) rope(r *plan.RopeAt, x []float64) {
	if r == nil {
		return
	}
	for h := 0; h < len(x); h += r.HeadDim {
		formula.Rope(x[h:h+r.HeadDim], r.Dim, false, func(i int) (cos, sin float64) {
			at := m.pos*r.Dim + 2*i
			return m.at(r.Table, at), m.at(r.Table, at+1)
		})
	}
}

func (m *memory) combine(c *plan.Combine, head, dim int) []float64 {
	var tops, sums []float64
	for s := range c.Splits.Used(m.pos + 1) {
		at := (s*c.Heads + head) * 2
		tops, sums = append(tops, m.at(c.ML, at)), append(sums, m.at(c.ML, at+1))
	}
	o, _, _ := formula.Mean(tops, sums, dim, func(s int) []float64 {
		return m.vec(plan.Vec{Slot: c.Out, Offset: (s*c.Heads + head) * dim}, 0, dim)
	})
	return o
}

func (m *memory) attend(p *plan.Attend) {
	n := m.pos + 1
	per, width := p.Splits.Per(n), p.LatDim+p.PeDim
	for s := range p.Splits.Count {
		for h := range p.Heads {
			q := append(m.vec(p.QAbs, h, p.LatDim), m.vec(p.QPe, h, p.PeDim)...)
			row := func(i int) []float64 { return m.vec(cached(p.Cache, s*per+i, width), 0, width) }
			var scores []float64
			for i := range max(0, min(per, n-s*per)) {
				scores = append(scores, p.Scale*p.Temperature.At(m.pos)*formula.Dot(q, row(i)))
			}
			o, top, sum := formula.Mean(scores, nil, p.LatDim, row)
			if len(scores) > 0 {
				m.setVec(plan.Vec{Slot: p.Out, Offset: (s*p.Heads + h) * p.LatDim}, 0, o)
			}
			m.setVec(plan.Vec{Slot: p.ML, Offset: (s*p.Heads + h) * 2}, 0, []float64{max(top, -1e30), sum}) // -1e30: no rows
		}
	}
}

// gate selects experts and writes their routing.
func (m *memory) gate(g *plan.Gating, routing int) {
	var bias []float64
	if g.Bias >= 0 {
		bias = m.vec(plan.Vec{Slot: g.Bias}, 0, g.Experts)
	}
	experts, weights := formula.Gate(g, m.vec(plan.Vec{Slot: g.Logits}, 0, g.Experts), bias)
	for i, e := range experts {
		binary.LittleEndian.PutUint32(m.data[routing][8*i:], uint32(e))
		binary.LittleEndian.PutUint32(m.data[routing][8*i+4:], math.Float32bits(float32(weights[i])))
	}
}
