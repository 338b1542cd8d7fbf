package cpu

import (
	"math"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// deltaHeads is the CPU kernel of plan.DeltaHeads. A unit is a head: only this unit touches the head's
// states, and it takes the rows of a session in order.
type deltaHeads struct {
	deltaStates
	deltaMaths
	rows  []deltaRow
	norm  []float32
	scale float32
}

// deltaMaths is the parameters of the vectors that are computed from projections.
type deltaMaths struct {
	taps  int
	convs [3][]float32 // of queries, keys and values: [heads*dim][taps]
	a, dt []float32
	bound float32 // 0: none
	eps   float64
}

func (b *binder) deltaMaths(heads, dim, taps, q, k, v, a, dt int, bound, eps float64) deltaMaths {
	inner := heads * dim
	return deltaMaths{taps: taps, convs: [3][]float32{b.table(q, inner, taps), b.table(k, inner, taps), b.table(v, inner, taps)},
		a: b.table(a, heads, 1), dt: b.weights(dt, inner), bound: float32(bound), eps: eps}
}

// deltaRow is the inputs and the result of one row.
type deltaRow struct {
	qkv       [3]vec
	f, z      headGate
	beta, out vec
}

// headGate is a vector for each head, or a vector with the second matrix of a low-rank projection.
type headGate struct {
	vec    vec
	source *source // of the low-rank projection; nil: vec is the gate
	w      weight
}

func (b *binder) headGate(v plan.Vec, matrix, heads, dim int) headGate {
	if matrix < 0 {
		return headGate{vec: b.vector(v, heads, dim)}
	}
	s := b.source(v, 1, dim, nil, nil, nil)
	return headGate{source: &s, w: b.matrix(matrix, 1, heads*dim, dim)}
}

// read writes the gate of a head to dst.
func (g *headGate) read(w *worker, head int, dst []float32) {
	if g.source == nil {
		copy(dst, g.vec.read(head*g.vec.stride, len(dst), dst))
		return
	}
	g.w.rows(0, head*len(dst), g.source.load(w, 0), dst)
}

// bytes is how many bytes of weights a head reads.
func (g *headGate) bytes(dim int) int { return g.w.rowBytes * dim }

func bindDeltaHeads(b *binder, p *plan.DeltaHeads) *deltaHeads {
	b.dims(p.Heads, p.Dim, p.Taps, p.Slot)
	t := &deltaHeads{deltaStates: b.statesOf(p, p.State), deltaMaths: b.deltaMaths(p.Heads, p.Dim, p.Taps, p.QConv, p.KConv, p.VConv, p.A, p.DT, p.Bound, p.Eps),
		norm: b.weights(p.Norm, p.Dim), scale: float32(p.Scale)}
	t.rows = perRow(b, func() deltaRow {
		return deltaRow{qkv: [3]vec{b.vector(p.Q, p.Heads, p.Dim), b.vector(p.K, p.Heads, p.Dim), b.vector(p.V, p.Heads, p.Dim)},
			f: b.headGate(p.F, p.FB, p.Heads, p.Dim), z: b.headGate(p.Z, p.ZB, p.Heads, p.Dim),
			beta: b.vector(p.Beta, p.Heads, 1), out: b.vector(p.Out, p.Heads, p.Dim)}
	})
	b.scratch(deltaVectorCount * p.Dim)
	return t
}

// table binds a matrix of parameters, as a copy.
func (b *binder) table(slot, rows, cols int) []float32 {
	b.matrix(slot, 1, rows, cols)
	return b.weights(slot, rows*cols)
}

// states binds the states of all slots: slot floats from one to the next, of which the first layer floats
// belong to the layer.
func (b *binder) states(slotIndex, layer, slot int) []float32 {
	s, at := b.slot(slotIndex, plan.SpaceState)
	if s == nil {
		return nil
	}
	tables := b.r.tables.Count()
	return b.numbers(s, at, sum(product(int64(tables-1), int64(slot)), int64(layer))).f32
}

func (t *deltaHeads) size() (units, cost int) {
	r := &t.rows[0]
	return t.heads, 8*t.dim*t.dim*max(len(t.rows)/4, 1) + r.f.bytes(t.dim) + r.z.bytes(t.dim)
}

func (t *deltaHeads) run(w *worker, lo, hi int) {
	for h := lo; h < hi; h++ {
		for i, row := range w.rows[:min(len(w.rows), len(t.rows))] {
			t.row(w, &t.rows[i], row, h)
		}
	}
}

// deltaVectorCount is how many vectors of a head a worker needs at once.
const deltaVectorCount = 9

// row computes one head of a row.
func (t *deltaHeads) row(w *worker, r *deltaRow, row plan.Row, h int) {
	n := t.dim
	buf := w.temp(deltaVectorCount * n)
	vector := func(i int) []float32 { return buf[i*n:][:n:n] }
	for i := range t.convs {
		t.convolved(w, vector(i), r.qkv[i].read(h*r.qkv[i].stride, n, vector(8)), t.window(row, i, h, t.taps), i, h)
	}
	q, k, v, keep, z, o := vector(0), vector(1), vector(2), vector(3), vector(4), vector(5)
	r.f.read(w, h, keep)
	t.decay(w, h, keep)
	beta := sigmoid(r.beta.read(h*r.beta.stride, 1, vector(8))[0])
	deltaRule(t.matrix(row, h), q, k, v, keep, beta, vector(6), vector(7), o)
	linalg.Scale(o, t.scale)
	r.z.read(w, h, z)
	gatedNormed(w, o, z, t.norm, t.eps)
	r.out.write(h*r.out.stride, o)
}

// convolve is y[c] = Σ w[c]·(past[c], x[c]), a causal depthwise convolution. It then moves the window past on
// by x.
func convolve(y, x, past, w []float32) {
	taps := len(w) / len(x)
	for c, v := range x {
		p, w := past[c*(taps-1):][:taps-1], w[c*taps:][:taps]
		sum := float32(0)
		for i, u := range p {
			sum += w[i] * u
		}
		y[c] = sum + w[taps-1]*v
		copy(p, p[1:])
		p[taps-2] = v
	}
}

// convolved computes the vector of kind i (0 q, 1 k, 2 v) of a head from its projection x and the window
// past.
func (t *deltaMaths) convolved(w *worker, y, x, past []float32, i, h int) {
	n := len(y)
	convolve(y, x, past, t.convs[i][h*n*t.taps:][:n*t.taps])
	w.exps.silu(y)
	if i < 2 {
		t.unit(y)
	}
}

// unit divides x by its L2 norm.
func (t *deltaMaths) unit(x []float32) {
	linalg.Scale(x, float32(1/math.Sqrt(float64(linalg.DotF32(x, x))+t.eps)))
}

// decay replaces the pre-activations f of a head's decay gate by the decays, one for each key channel.
func (t *deltaMaths) decay(w *worker, h int, f []float32) {
	a, dt := t.a[h], t.dt[h*len(f):][:len(f)]
	for i := range f {
		f[i] += dt[i]
	}
	if t.bound != 0 {
		linalg.Scale(f, a)
		w.exps.sigmoid(f)
		linalg.Scale(f, t.bound)
	} else {
		for i, x := range f {
			f[i] = a * softplus(x)
		}
	}
	linalg.Exps(f)
}

// softplus is ln(1 + e^x). Above 20 it is x, as the 1 does not change a float32 there.
func softplus(x float32) float32 {
	if x > 20 {
		return x
	}
	return float32(math.Log1p(math.Exp(float64(x))))
}

// deltaRule updates the state S of a head by one row, and writes Sᵀ q of the new state to o. A column s of
// the state is contiguous. It is read for both dot products, and then written once. With the decays d, the
// new column is d s + u k, where u = β (v - k·(d s)). As k·(d s) = (d k)·s, the query's product is q·(d s + u
// k) = (d q)·s + u q·k.
func deltaRule(s, q, k, v, keep []float32, beta float32, keptQ, keptK, o []float32) {
	n := len(q)
	for i, d := range keep {
		keptQ[i], keptK[i] = d*q[i], d*k[i]
	}
	both := linalg.DotF32(q, k)
	for j := range o {
		column := s[j*n:][:n:n]
		u := beta * (v[j] - linalg.DotF32(column, keptK))
		o[j] = linalg.DotF32(column, keptQ) + u*both
		linalg.Fade(column, keep, u, k)
	}
}
