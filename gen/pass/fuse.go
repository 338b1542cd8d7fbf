package pass

import "mla/gen/ir"

// pull moves the ops of the part that writes v to the front of the part that
// reads it. It does so only if the result is a kernel that exists and if no
// part reads any of the moved outputs earlier. It reports whether it did.
func pull(p *ir.Program, into *ir.Part, v *ir.Value) bool {
	u := ir.Analyze(p)
	from := u.Writer(v)
	if from == nil || from == into {
		return false
	}
	for _, op := range from.Ops {
		for _, o := range op.Out {
			if o.Output || o.Class == ir.Cache || !firstReader(u, from, into, o) {
				return false
			}
		}
	}
	fused := &ir.Part{Ops: append(append([]*ir.Op{}, from.Ops...), into.Ops...)}
	if !ir.Composable(fused) {
		return false
	}
	into.Ops, from.Ops = fused.Ops, nil
	sweep(p)
	return true
}

// firstReader says whether no part but from reads v before into does.
func firstReader(u *ir.Uses, from, into *ir.Part, v *ir.Value) bool {
	for _, r := range u.Readers(v) {
		if r != from {
			return r == into
		}
	}
	return true // only from itself reads it
}

// sweep drops parts without ops and steps without parts.
func sweep(p *ir.Program) {
	steps := p.Steps[:0]
	for _, s := range p.Steps {
		parts := s.Parts[:0]
		for _, part := range s.Parts {
			if len(part.Ops) > 0 {
				parts = append(parts, part)
			}
		}
		s.Parts = parts
		if len(parts) > 0 {
			steps = append(steps, s)
		}
	}
	p.Steps = steps
}

// eachPart calls f for the parts of p as they are now.
func eachPart(p *ir.Program, f func(part *ir.Part)) {
	var parts []*ir.Part
	for _, s := range p.Steps {
		parts = append(parts, s.Parts...)
	}
	for _, part := range parts {
		if len(part.Ops) > 0 {
			f(part)
		}
	}
}

// pullInto pulls the writer of every input of the ops of kind k.
func pullInto(p *ir.Program, k ir.Kind, from ...ir.Kind) {
	eachPart(p, func(part *ir.Part) {
		op := part.Find(k)
		if op == nil {
			return
		}
		// Later inputs first: each pull goes to the front.
		for i := len(op.In) - 1; i >= 0; i-- {
			w := ir.Analyze(p).Writer(op.In[i].V)
			if w != nil && hasAny(w, from) {
				pull(p, part, op.In[i].V)
			}
		}
	})
}

func hasAny(part *ir.Part, kinds []ir.Kind) bool {
	for _, k := range kinds {
		if part.Find(k) != nil {
			return true
		}
	}
	return false
}

func groupGating(p *ir.Program) error {
	eachPart(p, func(part *ir.Part) {
		if w := part.Find(ir.RouteWeights); w != nil {
			top, scores := ir.Analyze(p).Writer(w.In[1].V), ir.Analyze(p).Writer(w.In[0].V)
			part.Ops = append(append(append([]*ir.Op{}, scores.Ops...), top.Ops...), part.Ops...)
			top.Ops, scores.Ops = nil, nil
			sweep(p)
		}
	})
	return nil
}

// fuseSwiGLU needs both inputs at once: one mat-vec and a SwiGLU are no kernel.
func fuseSwiGLU(p *ir.Program) error {
	eachPart(p, func(part *ir.Part) {
		op := part.Find(ir.SwiGLU)
		if op == nil || len(part.Ops) > 1 {
			return
		}
		u := ir.Analyze(p)
		gate, up := u.Writer(op.In[0].V), u.Writer(op.In[1].V)
		if gate == up || len(u.Readers(op.In[0].V)) > 1 || len(u.Readers(op.In[1].V)) > 1 {
			return
		}
		fused := &ir.Part{Ops: append(append(append([]*ir.Op{}, gate.Ops...), up.Ops...), op)}
		if !ir.Composable(fused) {
			return
		}
		part.Ops, gate.Ops, up.Ops = fused.Ops, nil, nil
		sweep(p)
	})
	return nil
}

func fuseStoreKV(p *ir.Program) error {
	pullInto(p, ir.StoreKV, ir.RMSNorm, ir.Rope)
	return nil
}

func fuseRope(p *ir.Program) error { pullInto(p, ir.Rope, ir.MatVec); return nil }

func fuseCombine(p *ir.Program) error { pullInto(p, ir.MatVec, ir.Combine); return nil }

func fuseGating(p *ir.Program) error { pullInto(p, ir.ExpertsMatVec, ir.RouteWeights); return nil }

func fuseExpertsSum(p *ir.Program) error { pullInto(p, ir.WeightedSum, ir.ExpertsMatVec); return nil }

// fuseSharedDown joins the sum over the experts and the shared down projection
// in the add between them.
func fuseSharedDown(p *ir.Program) error {
	eachPart(p, func(part *ir.Part) {
		add := part.Find(ir.Add)
		if add == nil || len(part.Ops) > 1 {
			return
		}
		u := ir.Analyze(p)
		sum, shared := u.Writer(add.In[0].V), u.Writer(add.In[1].V)
		if sum.Signature() != "EW" || shared.Signature() != "M" {
			return
		}
		part.Ops = append(append(append([]*ir.Op{}, sum.Ops...), shared.Ops...), add)
		sum.Ops, shared.Ops = nil, nil
		sweep(p)
	})
	return nil
}

func fuseResidual(p *ir.Program) error {
	eachPart(p, func(part *ir.Part) {
		if add := part.Find(ir.Add); add != nil && len(part.Ops) == 1 {
			pull(p, part, add.In[1].V)
		}
	})
	return nil
}

// fuseNorm copies a norm into every part that reads it.
func fuseNorm(p *ir.Program) error {
	eachPart(p, func(part *ir.Part) {
		if part.Signature() != "N" {
			return
		}
		norm := part.Ops[0]
		readers := p.Readers(norm.Out[0])
		for _, r := range readers {
			trial := &ir.Part{Ops: append([]*ir.Op{norm}, r.Ops...)}
			if r.Find(ir.StoreKV) != nil || !ir.Composable(trial) {
				return
			}
		}
		for _, r := range readers {
			r.Ops = append([]*ir.Op{copyNorm(p, r, norm)}, r.Ops...)
		}
		part.Ops = nil
		sweep(p)
	})
	return nil
}

// copyNorm makes a copy of norm with an output of its own for the ops of part.
func copyNorm(p *ir.Program, part *ir.Part, norm *ir.Op) *ir.Op {
	c := *norm
	old := norm.Out[0]
	out := p.NewValue(old.Name, old.Layer, old.Len)
	c.Out = []*ir.Value{out}
	for _, op := range part.Ops {
		in := append([]ir.Ref{}, op.In...)
		for i := range in {
			if in[i].V == old {
				in[i].V = out
			}
		}
		op.In = in
	}
	return &c
}
