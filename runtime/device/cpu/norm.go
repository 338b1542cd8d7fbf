package cpu

import "mla/runtime/plan"

// norm is the RMS norm x·weight/sqrt(mean(x²)+eps) of DeepSeek-V2's blocks.
type norm struct {
	weight []float32
	eps    float64
}

// norm binds an optional norm of n elements.
func (b *binder) norm(p *plan.Norm, n int) *norm {
	if p == nil {
		return nil
	}
	return &norm{b.weights(p.Weight, n), p.Eps}
}

// apply writes the norm of x to dst, which may be x.
func (n *norm) apply(dst, x []float32) {
	scale := rmsScale(x, n.eps)
	dst, weight := dst[:len(x)], n.weight[:len(x)]
	for i, v := range x {
		dst[i] = v * scale * weight[i]
	}
}

// normVec is the CPU kernel of plan.NormVec.
type normVec struct {
	in, out vec
	dim     int
	norm    *norm
}

func bindNormVec(b *binder, p *plan.NormVec) *normVec {
	return &normVec{b.vector(p.In, 1, p.Dim), b.vector(p.Out, 1, p.Dim), p.Dim, b.norm(&p.Norm, p.Dim)}
}

func (t *normVec) size() (units, cost int) { return 1, 8 * t.dim }

func (t *normVec) run(w *worker, _, _ int) {
	x := w.temp(t.dim)
	t.norm.apply(x, t.in.read(0, t.dim, x))
	t.out.write(0, x)
}
