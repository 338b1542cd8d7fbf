package kernel

import (
	"mla/gen/ir"
	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// deltaThreads returns the number of threads for a head of linear attention. Eight lanes share two columns of
// the state, so that a column of 128 keys takes 16 registers of a thread, and both columns use the queries
// and keys that the thread loads once. In prompts a threadgroup has only some of the head's columns, and as
// many threads as these need.
func deltaThreads(p *ir.Program) int {
	n := p.Spec.Hybrid.HeadDim
	if !p.Batch() {
		return verify.DeltaLanes * p.Target().DeltaTurn(n)
	}
	return min(verify.DeltaLanes*n/2, target.MaxThreads)
}

// normHeads is the largest number of heads that one threadgroup normalises, one simdgroup each.
const normHeads = 8

// deltaHeads selects linear attention. Its ops are [mat-vec] [mat-vec], then convolution and SiLU of queries,
// keys and values with an L2 norm of the first two, then decay, sigmoid, delta rule and gated norm. Each op
// is found by its kind and by what reads its output.
func (b *builder) deltaHeads(part *ir.Part) plan.Part {
	writer := map[*ir.Value]*ir.Op{}
	for _, op := range part.Ops {
		for _, v := range op.Out {
			writer[v] = op
		}
	}
	delta, norm := part.Find(ir.DeltaRule), part.Find(ir.GatedNorm)
	p := &plan.DeltaHeads{FB: -1, ZB: -1, Heads: delta.Heads, Dim: delta.In[0].Len, Taps: b.p.Spec.Hybrid.ShortConvKernelSize,
		Eps: norm.Eps, Scale: delta.Scale}
	for i, into := range []struct {
		*plan.Vec
		conv *int
	}{{&p.Q, &p.QConv}, {&p.K, &p.KConv}, {&p.V, &p.VConv}} {
		op := convolution(writer, delta.In[i].V)
		*into.Vec, *into.conv = b.perHead(op.In[0].V, p.Heads), b.floats(op.W[0])
	}
	decay := writer[delta.In[3].V]
	p.F, p.FB = b.headGate(writer, decay.In[0].V, p.Heads)
	p.A, p.DT, p.Bound = b.floats(decay.W[0]), b.floats(decay.W[1]), decay.Limit
	p.Z, p.ZB = b.headGate(writer, norm.In[1].V, p.Heads)
	p.Beta = b.perHead(writer[delta.In[4].V].In[0].V, p.Heads)
	p.Norm, p.Out = b.floats(norm.W[0]), b.vecOut(norm, p.Dim)
	b.needRow()
	p.State, p.Slot, p.Shares = b.stateSlot(delta.State)
	return p
}

// convolution returns the convolution that a vector of the delta rule comes from.
func convolution(writer map[*ir.Value]*ir.Op, v *ir.Value) *ir.Op {
	op := writer[v]
	for op.Kind != ir.Convolve {
		op = writer[op.In[0].V]
	}
	return op
}

// stateOf returns the layout of a session's states.
func stateOf(p *ir.Program) plan.State {
	m := plan.Model{Dims: p.Spec.Model.Dims, Hybrid: p.Spec.Hybrid}
	return m.State()
}

// perHead returns a value with one vector for each head.
func (b *builder) perHead(v *ir.Value, heads int) plan.Vec {
	return plan.Vec{Slot: b.in(v), Stride: v.Len / heads}
}

// headGate returns the input of a gate: the value and -1, or if the part multiplies by a low-rank matrix
// itself, the input and the slot of that matrix.
func (b *builder) headGate(writer map[*ir.Value]*ir.Op, v *ir.Value, heads int) (in plan.Vec, matrix int) {
	if op := writer[v]; op != nil {
		return b.vec(op.In[0]), b.weight(op.W[0])
	}
	return b.perHead(v, heads), -1
}

// floats returns the slot of a weight that is always float32.
func (b *builder) floats(v *ir.Value) int {
	i := b.weight(v)
	b.k.Slots[i].Elem = plan.ElemF32
	return i
}
