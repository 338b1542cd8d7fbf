package kernel

import (
	"mla/gen/ir"
	"mla/runtime/plan"
)

// deltaRows selects the first part of linear attention of prompts. Its ops are in this order: convolution and
// SiLU of queries, keys and values with an L2 norm of the first two, then decay and sigmoid, and in chunks a
// DeltaChunk.
func (b *builder) deltaRows(part *ir.Part) plan.Part {
	ops := chain(part.Ops)
	p := plan.DeltaRows{Taps: b.p.Spec.Hybrid.ShortConvKernelSize, Heads: b.p.Spec.Model.NumAttentionHeads, Dim: b.p.Spec.Hybrid.HeadDim}
	var state *ir.Value
	var made []*ir.Op // the ops whose outputs are stored: queries, keys, values
	for _, of := range []struct {
		in   *plan.Vec
		conv *int
	}{{&p.Q, &p.QConv}, {&p.K, &p.KConv}, {&p.V, &p.VConv}} {
		op := ops.take(ir.Convolve)
		*of.in, *of.conv = b.perHead(op.In[0].V, p.Heads), b.floats(op.W[0])
		state = op.State
		last := ops.take(ir.SiLU)
		if norm := ops.take(ir.L2Norm); norm != nil {
			p.Eps, last = norm.Eps, norm
		}
		made = append(made, last)
	}
	decay := ops.take(ir.SoftplusDecay)
	if decay == nil {
		decay = ops.take(ir.BoundedDecay)
	}
	p.F = b.perHead(decay.In[0].V, p.Heads)
	p.A, p.DT, p.Bound = b.floats(decay.W[0]), b.floats(decay.W[1]), decay.Limit
	beta := ops.take(ir.Sigmoid)
	p.Beta = b.perHead(beta.In[0].V, p.Heads)
	b.needRow()
	p.State, p.Slot, p.Shares = b.stateSlot(state)
	if op := ops.take(ir.DeltaChunk); op != nil {
		chunks := &plan.DeltaChunks{DeltaRows: p, Scale: op.Scale}
		for i, v := range chunks.Vecs() {
			*v = plan.Vec{Slot: b.out(op.Out[i]), Stride: p.Dim}
		}
		return chunks
	}
	return &plan.DeltaVectors{DeltaRows: p, OutQ: b.vecOut(made[0], p.Dim), OutK: b.vecOut(made[1], p.Dim), OutV: b.vecOut(made[2], p.Dim),
		OutKeep: b.vecOut(decay, p.Dim), OutBeta: b.vecOut(beta, 1)}
}

// deltaFold selects the delta rule in chunks.
func (b *builder) deltaFold(op *ir.Op) plan.Part {
	n, t := op.In[0].Len, b.p.Target()
	p := &plan.DeltaFold{Heads: op.Heads, Dim: n, Taps: b.p.Spec.Hybrid.ShortConvKernelSize, Columns: t.DeltaColumns(op.Heads, n), Lanes: t.FoldLanes(n)}
	for i, v := range p.Vecs() {
		*v = b.perHead(op.In[i].V, op.Heads)
	}
	p.Out = b.vecOut(op, n)
	b.needRow()
	p.State, p.Slot, p.Shares = b.stateColumns(op)
	return p
}

// deltaColumns selects the delta rule row by row, as a part of its own.
func (b *builder) deltaColumns(op *ir.Op) plan.Part {
	n := op.In[0].Len
	p := &plan.DeltaColumns{Heads: op.Heads, Dim: n, Taps: b.p.Spec.Hybrid.ShortConvKernelSize, Scale: op.Scale,
		Columns: b.p.Target().DeltaColumns(op.Heads, n)}
	for i, v := range []*plan.Vec{&p.Q, &p.K, &p.V, &p.Keep, &p.Beta} {
		*v = b.perHead(op.In[i].V, op.Heads)
	}
	p.Out = b.vecOut(op, n)
	b.needRow()
	p.State, p.Slot, p.Shares = b.stateColumns(op)
	return p
}

// stateColumns is stateSlot for parts that update columns of the states in prompts. Fewer threadgroups share
// the sessions there.
func (b *builder) stateColumns(op *ir.Op) (slot, apart, shares int) {
	slot, apart, _ = b.stateSlot(op.State)
	return slot, apart, b.p.Target().DeltaShares(op.Heads, op.In[0].Len)
}

// stateSlot returns the slot of a layer's states, the distance between the states of two sessions in floats,
// and the number of threadgroups that share the sessions; 0 for one row.
func (b *builder) stateSlot(v *ir.Value) (slot, apart, shares int) {
	states := stateOf(b.p)
	if b.p.Width > 1 {
		shares = b.p.Wanted()
	}
	return b.out(v), states.Floats(), shares
}
