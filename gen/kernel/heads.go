package kernel

import (
	"mla/gen/ir"
	"mla/runtime/plan"
)

// heads returns the slot of the memory with expanded heads. Keys and values share it.
func (b *builder) heads(write bool) int {
	v := b.p.Expanded
	i, ok := b.slots[v]
	if !ok {
		i = b.add(plan.Slot{Name: "heads", Space: plan.SpaceHeads, Elem: plan.ElemAct}, plan.Operand{})
		b.slots[v] = i
	}
	b.k.Slots[i].Write = b.k.Slots[i].Write || write
	return i
}

func (b *builder) expandHeads(op *ir.Op) plan.Part {
	m := &b.p.Spec.Model
	return &plan.ExpandHeads{W: b.weight(op.W[0]), Keys: op.Transposed, Heads: op.Heads, Dim: op.Out[0].Len / op.Heads, LatDim: op.In[0].Len,
		PeDim: m.QKRopeHeadDim, Cache: b.paged(b.in(op.In[0].V)), Out: b.heads(true), Shares: b.p.Target().ExpandShares(&m.Dims, op.Transposed)}
}

func (b *builder) attendHeads(op *ir.Op) plan.Part {
	s := b.p.Spec
	t := &s.Tuning.AttendHeads
	return &plan.AttendHeads{QNope: b.vec(op.In[0]), QPe: b.vec(op.In[1]), Heads: op.Heads, NopeDim: op.In[0].Len, PeDim: op.In[1].Len,
		VDim: op.Out[0].Len / op.Heads, Scale: op.Scale, Temperature: op.Temperature, KV: b.paged(b.heads(false)),
		Out:          b.vecOut(op, op.Out[0].Len/op.Heads),
		RowsPerGroup: t.RowsPerSimdgroup * t.Simdgroups / t.SplitK, SplitK: t.SplitK, Tile: b.p.Target().HeadsTile(&s.Model.Dims, t)}
}
