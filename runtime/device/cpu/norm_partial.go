package cpu

import (
	"math"

	"mla/runtime/plan"
)

// normPartial is the first half of a norm; see plan.NormPartial.
type normPartial struct {
	weight  []float32
	ready   vec
	squares []float32
	group   int
}

// normPartial binds the first half of the next norm, of n results, if there is one.
func (b *binder) normPartial(p *plan.NormPartial, n int) *normPartial {
	if p == nil {
		return nil
	}
	return &normPartial{b.weights(p.Weight, n), b.vector(plan.Vec{Slot: p.Ready}, 1, n), b.floats(p.Squares, n/p.Group), p.Group}
}

// apply computes the first half of the norm of the results y, which begin with number r0, and leaves Ready in
// y. Results come in order, and one worker computes all results of a sum.
func (h *normPartial) apply(y []float32, r0 int) {
	for i, v := range y {
		y[i] = v * h.weight[r0+i]
		sum := &h.squares[(r0+i)/h.group]
		if (r0+i)%h.group == 0 {
			*sum = 0
		}
		*sum += v * v
	}
	h.ready.write(r0, y)
}

// normApply is the second half of a norm; see plan.NormApply.
type normApply struct {
	squares []float32
	eps     float64
}

// normApply binds the optional second half of a norm.
func (b *binder) normApply(p *plan.NormApply) *normApply {
	if p == nil {
		return nil
	}
	return &normApply{b.floats(p.Squares, p.Count), p.Eps}
}

// factor is the norm's factor over n elements; 1 without a norm.
func (r *normApply) factor(n int) float32 {
	if r == nil {
		return 1
	}
	var sum float64
	for _, v := range r.squares {
		sum += float64(v)
	}
	return float32(1 / math.Sqrt(sum/float64(n)+r.eps))
}
