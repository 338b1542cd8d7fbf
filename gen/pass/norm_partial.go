package pass

import (
	"mla/gen/ir"
	"mla/gen/target"
)

// normPartial splits RMSNorm into an elementwise half, x·w with partial sums of x², and a factor, which is
// one number. The part that makes x computes the first half. The mat-vecs that read the norm multiply their
// results by the factor. So no threadgroup of theirs reads, normalises and stages all of x.
func normPartial(p *ir.Program) error {
	if p.Width > 1 {
		spreadNorms(p)
	}
	uses := ir.Analyze(p)
	launches := map[*ir.Part]*ir.Launch{}
	p.Ops(func(s *ir.Launch, part *ir.Part, _ *ir.Op) { launches[part] = s })
	var all []*partialNorm
	for _, s := range p.Launches {
		for _, part := range s.Parts {
			if h := partialNormOf(uses, part); h != nil {
				all = append(all, h)
			}
		}
	}
	// All partial sums have one size, because one kernel may read the sums of several kernels.
	group := target.SimdWidth
	if most := p.Spec.Tuning.SumGroup; most > 0 {
		group = most
	}
	for _, h := range all {
		group = gcd(gcd(group, h.value.Len), elementsPerSimdgroup(p, launches[h.maker], h.maker))
	}
	for _, h := range all {
		h.rewrite(p, group)
	}
	return nil
}

// spreadNorms copies the norms that can be split into the mat-vecs that read them. With several rows no
// mat-vec normalises its own inputs, so the other norms keep their launches.
func spreadNorms(p *ir.Program) {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() != "N" {
			return
		}
		norm := part.Ops[0]
		maker := uses.Writer(norm.In[0].V)
		whole := norm.In[0].Off == 0 && norm.In[0].Len == norm.In[0].V.Len
		if !whole || !ir.Composable(joined(&ir.Part{Ops: []*ir.Op{{Kind: ir.NormPartial}}}, maker)) {
			return
		}
		for _, r := range uses.Readers(norm.Out[0]) {
			if !ir.Composable(joined(r, &ir.Part{Ops: []*ir.Op{{Kind: ir.NormApply}}})) {
				return
			}
		}
		for _, r := range uses.Readers(norm.Out[0]) {
			r.Ops = append([]*ir.Op{copyNorm(p, r, norm)}, r.Ops...)
		}
		part.Ops = nil
	})
}

// partialNorm is a value that is read only through norms with the same weight.
type partialNorm struct {
	value   *ir.Value
	maker   *ir.Part
	readers []*ir.Part // each begins with a copy of the norm
}

// partialNormOf returns the norm whose first half part can make, or nil.
func partialNormOf(uses *ir.Uses, part *ir.Part) *partialNorm {
	last := part.Ops[len(part.Ops)-1]
	h := &partialNorm{value: last.Out[0], maker: part}
	var weight *ir.Value
	for _, r := range uses.Readers(h.value) {
		norm := r.Ops[0]
		if norm.Kind != ir.RMSNorm || norm.In[0].V != h.value {
			continue
		}
		if weight == nil {
			weight = norm.W[0]
		}
		// The cache write normalises only some elements of its value, in one threadgroup.
		whole := norm.In[0].Off == 0 && norm.In[0].Len == h.value.Len
		same := norm.W[0].Row == weight.Row && norm.W[0].Layer == weight.Layer
		if !whole || !same || !ir.Composable(withFirst(r, &ir.Op{Kind: ir.NormApply})) {
			return nil
		}
		h.readers = append(h.readers, r)
	}
	if len(h.readers) == 0 || !ir.Composable(joined(&ir.Part{Ops: []*ir.Op{{Kind: ir.NormPartial}}}, part)) {
		return nil
	}
	return h
}

// withFirst returns part with first in place of its first op.
func withFirst(part *ir.Part, first *ir.Op) *ir.Part {
	return &ir.Part{Ops: append([]*ir.Op{first}, part.Ops[1:]...)}
}

// elementsPerSimdgroup returns how many consecutive elements of the part's output one simdgroup makes.
func elementsPerSimdgroup(p *ir.Program, s *ir.Launch, part *ir.Part) int {
	if part.Find(ir.Embed) != nil || part.Find(ir.WeightedSum) != nil && part.Find(ir.ExpertsMatVec) == nil {
		return target.SimdWidth
	}
	return p.Shape(s).RowsPerSimdgroup
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rewrite moves the first half of the norm to the maker. The residual stream is stored in every layer, even
// if nothing reads it any more, so that layers share kernels.
func (h *partialNorm) rewrite(p *ir.Program, group int) {
	norm := h.readers[0].Ops[0]
	layer := h.value.Layer
	ready, squares := p.NewValue("ready", layer, h.value.Len), p.NewValue("ready_squares", layer, h.value.Len/group)
	ready.Elem = ir.Half
	h.value.Kept = h.value.Kept || h.maker.Ops[len(h.maker.Ops)-1].Kind != ir.MatVec
	for _, r := range h.readers {
		n := r.Ops[0]
		r.Ops[0] = &ir.Op{Kind: ir.NormApply, Name: n.Name, In: []ir.Ref{ir.All(ready), ir.All(squares)}, Out: n.Out, Eps: n.Eps}
	}
	half := &ir.Op{Kind: ir.NormPartial, Name: norm.Name, In: []ir.Ref{ir.All(h.value)}, W: norm.W, Out: []*ir.Value{ready, squares}, Group: group}
	half.Note("norm_partial: it writes x·w and a sum of squares for every %d elements, as many as a simdgroup of any kernel that makes such values has", group)
	h.maker.Ops = append(h.maker.Ops, half)
}
