package kernel

import (
	"mla/gen/ir"
	"mla/gen/target"
	"mla/runtime/plan"
)

// deltaThreads are the threads of a head of linear attention. Eight threads share a column, and each thread has two
// columns, or four in prompts. A column of 128 keys takes 16 registers of a thread. The columns of a thread share what it
// loads of queries and keys, which takes most of the time of a prompt.
func deltaThreads(p *ir.Program) int {
	columns := 2
	if p.Width > plan.MaxBatch {
		columns = 4
	}
	return min(8*p.Spec.Hybrid.HeadDim/columns, target.MaxThreads)
}

// deltaHeads is [mat-vec] [mat-vec], then of queries, keys and values each convolution, SiLU and but for values L2 norm,
// then decay, sigmoid, delta rule and gated norm. Every op is found by its kind and by what it is made of.
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
		op := writer[delta.In[i].V]
		for op.Kind != ir.Convolve {
			op = writer[op.In[0].V]
		}
		*into.Vec, *into.conv = b.perHead(op.In[0].V, p.Heads), b.floats(op.W[0])
	}
	decay := writer[delta.In[3].V]
	p.F, p.FB = b.headGate(writer, decay.In[0].V, p.Heads)
	p.A, p.DT, p.Bound = b.floats(decay.W[0]), b.floats(decay.W[1]), decay.Limit
	p.Z, p.ZB = b.headGate(writer, norm.In[1].V, p.Heads)
	p.Beta = b.perHead(writer[delta.In[4].V].In[0].V, p.Heads)
	p.Norm, p.Out = b.floats(norm.W[0]), b.vecOut(norm, p.Dim)
	b.needRow()
	p.State = b.out(delta.State)
	states := stateOf(b.p)
	p.Slot = states.Floats()
	if b.p.Width > 1 {
		p.Shares = min(b.p.Width, plan.MaxBatch)
	}
	return p
}

// stateOf is how the sessions of a program keep their states.
func stateOf(p *ir.Program) plan.State {
	m := plan.Model{Dims: p.Spec.Model.Dims, Hybrid: p.Spec.Hybrid}
	return m.State()
}

// perHead is a value with a vector for each head.
func (b *builder) perHead(v *ir.Value, heads int) plan.Vec {
	return plan.Vec{Slot: b.in(v), Stride: v.Len / heads}
}

// headGate is what a gate is made of: a value, or the matrix that the part multiplies by and what it multiplies.
func (b *builder) headGate(writer map[*ir.Value]*ir.Op, v *ir.Value, heads int) (in plan.Vec, matrix int) {
	if op := writer[v]; op != nil {
		return b.vec(op.In[0]), b.weight(op.W[0])
	}
	return b.perHead(v, heads), -1
}

// floats is the slot of a weight that is no matrix to multiply by: it has no other type.
func (b *builder) floats(v *ir.Value) int {
	i := b.weight(v)
	b.k.Slots[i].Elem = plan.ElemF32
	return i
}
