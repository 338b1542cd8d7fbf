package msl

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
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
					y[i] = max(y[i], 0) * max(y[i], 0)
				}
			}
			if p.Add >= 0 {
				addTo(y, m.vec(plan.Vec{Slot: p.Add, Offset: p.Out.Offset, Stride: p.Out.Stride}, b, p.Rows), 1)
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
			addTo(y, m.mul(p, p.W, -1, e, p.Rows, m.factor(p.In, i, p.Cols, nil, nil)), w)
		}
		if p.Shared >= 0 {
			addTo(y, m.mul(p, p.Shared, -1, 0, p.Rows, m.factor(p.SharedIn, 0, p.SharedCols, nil, nil)), 1)
		}
		if p.Add >= 0 {
			addTo(y, m.vec(plan.Vec{Slot: p.Add, Offset: p.Out.Offset}, 0, p.Rows), 1)
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
		g, u := m.vec(p.Gate, 0, p.Dim), m.vec(p.Up, 0, p.Dim)
		for i := range g {
			g[i] *= u[i] / (1 + math.Exp(-g[i]))
		}
		m.setVec(p.Out, 0, g)
	case *plan.AddVec:
		a := m.vec(p.A, 0, p.Dim)
		addTo(a, m.vec(p.B, 0, p.Dim), 1)
		m.setVec(p.Out, 0, a)
	case *plan.WeightedSum:
		y := make([]float64, p.Dim)
		for i := range p.K {
			_, w := m.routing(p.Routing, i)
			addTo(y, m.vec(p.In, i, p.Dim), w)
		}
		m.setVec(p.Out, 0, y)
	}
}

func addTo(y, x []float64, factor float64) {
	for i := range y {
		y[i] += factor * x[i]
	}
}

// input is a vector, normalised if n is not nil.
func (m *memory) input(v plan.Vec, e, n int, norm *plan.Norm) []float64 {
	x := m.vec(v, e, n)
	if norm == nil {
		return x
	}
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	for i := range x {
		x[i] *= m.at(norm.Weight, i) / math.Sqrt(squares/float64(n)+norm.Eps)
	}
	return x
}

// factor is what a mat-vec multiplies, and what its results are multiplied by.
type factor struct {
	x      []float64
	halves bool
	scale  float64
}

// factor is a vector, normalised if there is a norm or half of one.
func (m *memory) factor(v plan.Vec, e, n int, norm *plan.Norm, r *plan.NormApply) factor {
	f := factor{x: m.input(v, e, n, norm), halves: norm == nil && m.half(v.Slot), scale: 1}
	if r != nil {
		var sum float64
		for i := range r.Count {
			sum += m.at(r.Squares, i)
		}
		f.scale = 1 / math.Sqrt(sum/float64(n)+r.Eps)
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
	for i := range y {
		m.set(h.Ready, i, y[i]*m.at(h.Weight, i))
	}
	for g := range len(y) / h.Group {
		x := y[g*h.Group:][:h.Group]
		m.set(h.Squares, g, dot(x, x))
	}
}

// mul is a mat-vec, with SwiGLU if up is a slot.
func (m *memory) mul(p plan.Part, w, up, entry, rows int, f factor) []float64 {
	y := make([]float64, rows)
	for r := range y {
		y[r] = m.product(p, w, entry, r, f)
		if up >= 0 {
			y[r] *= m.product(p, up, entry, r, f) / (1 + math.Exp(-y[r]))
		}
	}
	return y
}

// product is one row times f; halves are multiplied as package quant says.
func (m *memory) product(p plan.Part, w, entry, row int, f factor) float64 {
	if !f.halves {
		return f.scale * dot(m.row(p, w, len(f.x), entry, row), f.x)
	}
	x, y := make([]float32, len(f.x)), make([]float32, 1)
	for i, v := range f.x {
		x[i] = float32(v)
	}
	format, data := m.rowBytes(p, w, len(x), entry, row)
	linalg.RowsHalves(format, data, len(data), x, y)
	return f.scale * float64(y[0])
}

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func (m *memory) rope(r *plan.RopeAt, x []float64) {
	if r == nil {
		return
	}
	for i := 0; i < len(x); i += 2 {
		d := i%r.HeadDim - (r.HeadDim - r.Dim)
		if d < 0 {
			continue
		}
		at := m.pos*r.Dim + d
		cos, sin := m.at(r.Table, at), m.at(r.Table, at+1)
		x[i], x[i+1] = x[i]*cos-x[i+1]*sin, x[i]*sin+x[i+1]*cos
	}
}

func (m *memory) combine(c *plan.Combine, head, dim int) []float64 {
	n := m.pos + 1
	top, sum := math.Inf(-1), 0.0
	o := make([]float64, dim)
	used := c.Splits.Used(n)
	for s := range used {
		top = max(top, m.at(c.ML, (s*c.Heads+head)*2))
	}
	for s := range used {
		w := math.Exp(m.at(c.ML, (s*c.Heads+head)*2)-top) * m.at(c.ML, (s*c.Heads+head)*2+1)
		sum += w
		addTo(o, m.vec(plan.Vec{Slot: c.Out, Offset: (s*c.Heads + head) * dim}, 0, dim), w)
	}
	for i := range o {
		o[i] /= sum
	}
	return o
}

func (m *memory) attend(p *plan.Attend) {
	n := m.pos + 1
	per, width := p.Splits.Per(n), p.LatDim+p.PeDim
	for s := range p.Splits.Count {
		for h := range p.Heads {
			q := append(m.vec(p.QAbs, h, p.LatDim), m.vec(p.QPe, h, p.PeDim)...)
			top, sum := -1e30, 0.0
			var scores []float64
			for t := s * per; t < min((s+1)*per, n); t++ {
				scores = append(scores, p.Scale*p.Temperature.At(m.pos)*dot(q, m.vec(cached(p.Cache, t, width), 0, width)))
				top = max(top, scores[len(scores)-1])
			}
			o := make([]float64, p.LatDim)
			for i, score := range scores {
				w := math.Exp(score - top)
				sum += w
				addTo(o, m.vec(cached(p.Cache, s*per+i, width), 0, p.LatDim), w)
			}
			for i := range o {
				o[i] /= sum
			}
			if len(scores) > 0 {
				m.setVec(plan.Vec{Slot: p.Out, Offset: (s*p.Heads + h) * p.LatDim}, 0, o)
			}
			m.setVec(plan.Vec{Slot: p.ML, Offset: (s*p.Heads + h) * 2}, 0, []float64{top, sum})
		}
	}
}

// gate selects experts and writes their routing.
func (m *memory) gate(g *plan.Gating, routing int) {
	logits := m.vec(plan.Vec{Slot: g.Logits}, 0, g.Experts)
	probs := slices.Clone(logits)
	var sum float64
	for i := range probs {
		if g.Sigmoid {
			probs[i] = 1 / (1 + math.Exp(-probs[i]))
		} else {
			probs[i] = math.Exp(probs[i])
			sum += probs[i]
		}
	}
	if !g.Sigmoid {
		for i := range probs {
			probs[i] /= sum
		}
	}
	selection := slices.Clone(probs)
	if g.ByLogits() {
		selection = logits
	}
	if g.Bias >= 0 {
		addTo(selection, m.vec(plan.Vec{Slot: g.Bias}, 0, g.Experts), 1)
	}
	for i, score := range selection {
		if math.IsNaN(score) {
			selection[i] = mask
		}
	}
	limitGroups(selection, g)
	var chosen []int
	var total float64
	for range g.K {
		best := slices.Index(selection, slices.Max(selection))
		chosen = append(chosen, best)
		total += probs[best]
		selection[best] = math.Inf(-1)
	}
	for i, e := range chosen {
		w := probs[e] * g.Scale
		if g.Normalize {
			w /= max(total, 0x1p-14)
		}
		binary.LittleEndian.PutUint32(m.data[routing][8*i:], uint32(e))
		binary.LittleEndian.PutUint32(m.data[routing][8*i+4:], math.Float32bits(float32(w)))
	}
}

// mask is the score of experts of other groups, and of those whose scores are not numbers.
const mask = -1e30

// limitGroups leaves the experts of the best groups, of equal ones the first.
func limitGroups(selection []float64, g *plan.Gating) {
	if g.Groups <= 1 {
		return
	}
	size := g.Experts / g.Groups
	scores := make([]float64, g.Groups)
	for i := range scores {
		group := slices.Sorted(slices.Values(selection[i*size : (i+1)*size]))
		scores[i] = group[size-1] + group[size-2]
	}
	for range g.KGroups {
		scores[slices.Index(scores, slices.Max(scores))] = math.Inf(-1)
	}
	for e := range selection {
		if !math.IsInf(scores[e/size], -1) {
			selection[e] = mask
		}
	}
}
