package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// deltaStates is the states of one layer.
type deltaStates struct {
	heads, dim             int
	floats                 []float32
	slot, layer, windowsAt int // floats of a slot, floats of the layer in it, and where its windows begin
}

// statesOf binds the states that a part updates.
func (b *binder) statesOf(p plan.Part, slot int) (t deltaStates) {
	s := plan.StateOf(p)
	t = deltaStates{heads: s.Heads, dim: s.Dim, slot: s.Slot, layer: s.LayerFloats(), windowsAt: s.Windows()}
	if s.Dim%linalg.VectorStep != 0 || s.Taps < 2 || s.Slot < t.layer {
		b.fail("heads of %d columns with %d taps, in slots of %d floats; expected multiples of %d, 2 taps and a slot that holds %d", s.Dim, s.Taps, s.Slot, linalg.VectorStep, t.layer)
		return t
	}
	t.floats = b.states(slot, t.layer, s.Slot)
	return t
}

// of returns n floats of the layer's state in the row's slot, from float from on. Before position 0 the state
// is zero.
func (t *deltaStates) of(row plan.Row, from, n int) []float32 {
	x := t.floats[int(row.Table)*t.slot:][:t.layer][from:][:n]
	if row.Pos == 0 {
		clear(x)
	}
	return x
}

// matrix is the state of a head for the session of a row.
func (t *deltaStates) matrix(row plan.Row, h int) []float32 {
	return t.of(row, h*t.dim*t.dim, t.dim*t.dim)
}

// window is the last inputs of convolution i (0 q, 1 k, 2 v) of a head, for the session of a row.
func (t *deltaStates) window(row plan.Row, i, h, taps int) []float32 {
	n := t.dim * (taps - 1)
	return t.of(row, t.windowsAt+(i*t.heads+h)*n, n)
}

// deltaInputs computes the vectors of plan.DeltaRows for each row.
type deltaInputs struct {
	deltaStates
	deltaMaths
	in []deltaInput
}

// deltaInput is the inputs of one row.
type deltaInput struct {
	qkv     [3]vec
	f, beta vec
}

func (b *binder) deltaInputs(part plan.Part, p *plan.DeltaRows) deltaInputs {
	b.dims(p.Heads, p.Dim, p.Taps, p.Slot)
	t := deltaInputs{deltaStates: b.statesOf(part, p.State), deltaMaths: b.deltaMaths(p.Heads, p.Dim, p.Taps, p.QConv, p.KConv, p.VConv, p.A, p.DT, p.Bound, p.Eps)}
	each := func(v plan.Vec) vec { return b.vector(v, p.Heads, p.Dim) }
	t.in = perRow(b, func() deltaInput {
		return deltaInput{[3]vec{each(p.Q), each(p.K), each(p.V)}, each(p.F), b.vector(p.Beta, p.Heads, 1)}
	})
	return t
}

func (t *deltaInputs) size() (units, cost int) { return t.heads, 64 * t.dim * max(len(t.in), 1) }

// vector computes one vector of a head into y: kind 0 is the query, 1 the key, 2 the value, 3 the decays. x
// is scratch of the same length.
func (t *deltaInputs) vector(w *worker, r *deltaInput, row plan.Row, kind, h int, x, y []float32) {
	n := t.dim
	if kind < 3 {
		t.convolved(w, y, r.qkv[kind].read(h*r.qkv[kind].stride, n, x), t.window(row, kind, h, t.taps), kind, h)
		return
	}
	copy(y, r.f.read(h*r.f.stride, n, x))
	t.decay(w, h, y)
}

func (r *deltaInput) betaOf(h int, x []float32) float32 {
	return sigmoid(r.beta.read(h*r.beta.stride, 1, x)[0])
}

// deltaVectors is the CPU kernel of plan.DeltaVectors. A unit is a head.
type deltaVectors struct {
	deltaInputs
	rows []deltaVectorsRow
}

// deltaVectorsRow is the results of one row: queries, keys, values and decays.
type deltaVectorsRow struct {
	out  [4]vec
	beta vec
}

func bindDeltaVectors(b *binder, p *plan.DeltaVectors) *deltaVectors {
	t := &deltaVectors{deltaInputs: b.deltaInputs(p, &p.DeltaRows)}
	each := func(v plan.Vec) vec { return b.vector(v, p.Heads, p.Dim) }
	t.rows = perRow(b, func() deltaVectorsRow {
		return deltaVectorsRow{[4]vec{each(p.OutQ), each(p.OutK), each(p.OutV), each(p.OutKeep)}, b.vector(p.OutBeta, p.Heads, 1)}
	})
	b.scratch(2 * p.Dim)
	return t
}

func (t *deltaVectors) run(w *worker, lo, hi int) {
	for h := lo; h < hi; h++ {
		for i, row := range w.rows[:min(len(w.rows), len(t.rows))] {
			t.row(w, &t.in[i], &t.rows[i], row, h)
		}
	}
}

func (t *deltaVectors) row(w *worker, in *deltaInput, r *deltaVectorsRow, row plan.Row, h int) {
	n := t.dim
	buf := w.temp(2 * n)
	x, y := buf[:n], buf[n:][:n]
	for i := range r.out {
		t.vector(w, in, row, i, h, x, y)
		r.out[i].write(h*r.out[i].stride, y)
	}
	y[0] = in.betaOf(h, x)
	r.beta.write(h*r.beta.stride, y[:1])
}

// deltaColumns is the CPU kernel of plan.DeltaColumns. A unit is a head.
type deltaColumns struct {
	deltaStates
	scale float32
	rows  []deltaColumnsRow
}

// deltaColumnsRow is the inputs and the result of one row.
type deltaColumnsRow struct{ q, k, v, keep, beta, out vec }

func bindDeltaColumns(b *binder, p *plan.DeltaColumns) *deltaColumns {
	b.dims(p.Heads, p.Dim, p.Taps, p.Slot, p.Columns)
	t := &deltaColumns{deltaStates: b.statesOf(p, p.State), scale: float32(p.Scale)}
	each := func(v plan.Vec) vec { return b.vector(v, p.Heads, p.Dim) }
	t.rows = perRow(b, func() deltaColumnsRow {
		return deltaColumnsRow{each(p.Q), each(p.K), each(p.V), each(p.Keep), b.vector(p.Beta, p.Heads, 1), each(p.Out)}
	})
	b.scratch(deltaVectorCount * p.Dim)
	return t
}

func (t *deltaColumns) size() (units, cost int) {
	return t.heads, 8 * t.dim * t.dim * max(len(t.rows)/4, 1)
}

func (t *deltaColumns) run(w *worker, lo, hi int) {
	n := t.dim
	for h := lo; h < hi; h++ {
		for i, row := range w.rows[:min(len(w.rows), len(t.rows))] {
			buf := w.temp(deltaVectorCount * n)
			vector := func(i int) []float32 { return buf[i*n:][:n:n] }
			r, o := &t.rows[i], vector(0)
			read := func(v *vec, i int) []float32 { return v.read(h*v.stride, n, vector(i)) }
			beta := r.beta.read(h*r.beta.stride, 1, o)[0]
			deltaRule(t.matrix(row, h), read(&r.q, 1), read(&r.k, 2), read(&r.v, 3), read(&r.keep, 4), beta, vector(5), vector(6), o)
			linalg.Scale(o, t.scale)
			r.out.write(h*r.out.stride, o)
		}
	}
}

// gatedNorm is the CPU kernel of plan.GatedNormVec. A unit is a head.
type gatedNorm struct {
	heads, dim    int
	in, gate, out vec
	norm          []float32
	eps           float64
}

func bindGatedNorm(b *binder, p *plan.GatedNormVec) *gatedNorm {
	b.scratch(2 * p.Dim)
	return &gatedNorm{p.Heads, p.Dim, b.vector(p.In, p.Heads, p.Dim), b.vector(p.Gate, p.Heads, p.Dim), b.vector(p.Out, p.Heads, p.Dim), b.weights(p.Norm, p.Dim), p.Eps}
}

func (t *gatedNorm) size() (units, cost int) { return t.heads, 16 * t.dim }

func (t *gatedNorm) run(w *worker, lo, hi int) {
	n := t.dim
	buf := w.temp(2 * n)
	for h := lo; h < hi; h++ {
		z, o := buf[:n], buf[n:][:n]
		copy(z, t.gate.read(h*t.gate.stride, n, z))
		copy(o, t.in.read(h*t.in.stride, n, o))
		gatedNormed(w, o, z, t.norm, t.eps)
		t.out.write(h*t.out.stride, o)
	}
}

// gatedNormed replaces o by rms(o) ⊙ norm ⊙ σ(z), and z by σ(z).
func gatedNormed(w *worker, o, z, norm []float32, eps float64) {
	w.exps.sigmoid(z)
	scale := rmsScale(o, eps)
	for i, x := range o {
		o[i] = x * scale * norm[i] * z[i]
	}
}
