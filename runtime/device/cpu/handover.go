package cpu

import (
	"math"

	"mla/runtime/plan"
)

// handOver is the first half of a norm; see plan.HandOver.
type handOver struct {
	weight         []float32
	ready, squares []float32
	group          int
}

// handOver binds what n results hand over, if they do.
func (b *binder) handOver(p *plan.HandOver, n int) *handOver {
	if p == nil {
		return nil
	}
	b.dims(p.Group, n)
	if p.Group < 1 || n%p.Group != 0 {
		b.fail("sums of %d squares each for %d results", p.Group, n)
		return nil
	}
	return &handOver{b.vector(p.Weight, n), b.writableFloats(p.Ready, n), b.writableFloats(p.Squares, n/p.Group), p.Group}
}

// apply hands over the results y, which begin with number r0. Results come in
// order, and those of one sum from one worker.
func (h *handOver) apply(y []float32, r0 int) {
	ready, weight := h.ready[r0:r0+len(y)], h.weight[r0:r0+len(y)]
	for i, v := range y {
		ready[i] = v * weight[i]
		sum := &h.squares[(r0+i)/h.group]
		if (r0+i)%h.group == 0 {
			*sum = 0
		}
		*sum += v * v
	}
}

// rescale is the second half of a norm; see plan.Rescale.
type rescale struct {
	squares []float32
	eps     float64
}

// rescale binds an optional rescale.
func (b *binder) rescale(p *plan.Rescale) *rescale {
	if p == nil {
		return nil
	}
	b.dims(p.Count)
	return &rescale{b.floats(p.Squares, p.Count), p.Eps}
}

// apply writes the normalised x to dst, which may be x.
func (r *rescale) apply(dst, x []float32) {
	var sum float64
	for _, v := range r.squares {
		sum += float64(v)
	}
	scale := float32(1 / math.Sqrt(sum/float64(len(x))+r.eps))
	for i, v := range x {
		dst[i] = v * scale
	}
}
