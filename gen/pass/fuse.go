package pass

import (
	"slices"

	"mla/gen/ir"
)

// eachPart calls f for each part of p that still has ops when its turn comes. f must keep uses up to date.
// Parts that f has emptied are removed at the end.
func eachPart(p *ir.Program, f func(uses *ir.Uses, part *ir.Part)) {
	uses := ir.Analyze(p)
	for _, s := range p.Launches {
		for _, part := range s.Parts {
			if len(part.Ops) > 0 {
				f(uses, part)
			}
		}
	}
	sweep(p)
}

// sweep removes parts without ops and launches without parts.
func sweep(p *ir.Program) {
	for _, s := range p.Launches {
		s.Parts = slices.DeleteFunc(s.Parts, func(part *ir.Part) bool { return len(part.Ops) == 0 })
	}
	p.Launches = slices.DeleteFunc(p.Launches, func(s *ir.Launch) bool { return len(s.Parts) == 0 })
}

// joined returns a part that runs the ops of from, then those of into.
func joined(into *ir.Part, from ...*ir.Part) *ir.Part {
	all := &ir.Part{}
	for _, part := range from {
		all.Ops = append(all.Ops, part.Ops...)
	}
	all.Ops = append(all.Ops, into.Ops...)
	return all
}

// join moves the ops of from to the front of into.
func join(uses *ir.Uses, into *ir.Part, from ...*ir.Part) {
	into.Ops = joined(into, from...).Ops
	for _, part := range from {
		uses.Move(part, into)
		part.Ops = nil
	}
}

// pull joins the part that writes v to the part that reads it, if a kernel for the result exists and if no
// part reads any of the moved outputs earlier.
func pull(uses *ir.Uses, into *ir.Part, v *ir.Value) {
	from := uses.Writer(v)
	if from == nil || from == into || !ir.Composable(joined(into, from)) {
		return
	}
	for _, op := range from.Ops {
		for _, o := range op.Out {
			if o.Output || o.Class == ir.Cache || !firstReader(uses, from, into, o) {
				return
			}
		}
	}
	join(uses, into, from)
}

// firstReader reports whether into is the first part after from that reads v.
func firstReader(uses *ir.Uses, from, into *ir.Part, v *ir.Value) bool {
	for _, r := range uses.Readers(v) {
		if r != from {
			return r == into
		}
	}
	return true // only from itself reads it
}

// pullInto pulls the writer of each input of the ops of kind k, if the writer has an op of one of the kinds
// from.
func pullInto(p *ir.Program, k ir.Kind, from ...ir.Kind) {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		op := part.Find(k)
		if op == nil {
			return
		}
		// From the last input to the first: each pull puts ops at the front.
		for _, in := range slices.Backward(op.In) {
			if w := uses.Writer(in.V); w != nil && hasAny(w, from) {
				pull(uses, part, in.V)
			}
		}
	})
}

func hasAny(part *ir.Part, kinds []ir.Kind) bool {
	return slices.ContainsFunc(kinds, func(k ir.Kind) bool { return part.Find(k) != nil })
}

// groupGating makes one part of scores, top-k and routing weights.
func groupGating(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if w := part.Find(ir.RouteWeights); w != nil {
			join(uses, part, uses.Writer(w.In[0].V), uses.Writer(w.In[1].V))
		}
	})
	return nil
}

// fuseSwiGLU fuses gate, up and SwiGLU at once, because no kernel computes one mat-vec and a SwiGLU.
func fuseSwiGLU(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() != "G" {
			return
		}
		in := part.Ops[0].In
		gate, up := uses.Writer(in[0].V), uses.Writer(in[1].V)
		alone := len(uses.Readers(in[0].V)) == 1 && len(uses.Readers(in[1].V)) == 1
		if alone && gate != up && ir.Composable(joined(part, gate, up)) {
			join(uses, part, gate, up)
		}
	})
	return nil
}

func fuseStoreKV(p *ir.Program) error {
	pullInto(p, ir.StoreKV, ir.RMSNorm, ir.Rope)
	return nil
}

func fuseSquaredReLU(p *ir.Program) error {
	pullInto(p, ir.SquaredReLU, ir.MatVec)
	return nil
}

func fuseRope(p *ir.Program) error { pullInto(p, ir.Rope, ir.MatVec); return nil }

func fuseCombine(p *ir.Program) error { pullInto(p, ir.MatVec, ir.Combine); return nil }

func fuseGating(p *ir.Program) error { pullInto(p, ir.ExpertsMatVec, ir.RouteWeights); return nil }

func fuseExpertsSum(p *ir.Program) error { pullInto(p, ir.WeightedSum, ir.ExpertsMatVec); return nil }

// fuseSharedDown joins the sum over the experts and the shared down projection to the add of both.
func fuseSharedDown(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() != "A" {
			return
		}
		in := part.Ops[0].In
		sum, shared := uses.Writer(in[0].V), uses.Writer(in[1].V)
		if sum.Signature() == "EW" && shared.Signature() == "M" {
			join(uses, part, sum, shared)
		}
	})
	return nil
}

// fuseAddShared adds the shared experts where the routed experts are summed.
func fuseAddShared(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() == "A" {
			if sum := part.Ops[0].In[0].V; uses.Writer(sum).Find(ir.WeightedSum) != nil {
				pull(uses, part, sum)
			}
		}
	})
	return nil
}

// groupExperts adds a launch after each routing. It lists, by expert, what all rows have selected, and the
// experts' mat-vecs read that list instead of the routing.
func groupExperts(p *ir.Program) error {
	uses := ir.Analyze(p)
	after := map[*ir.Launch]*ir.Launch{}
	p.Ops(func(s *ir.Launch, _ *ir.Part, op *ir.Op) {
		if op.Kind != ir.RouteWeights {
			return
		}
		group := &ir.Op{Kind: ir.GroupExperts, Name: "group_experts", In: []ir.Ref{ir.All(op.Out[0])}}
		g := group.Grouping(p)
		for _, v := range []struct {
			name string
			n    int
		}{{"expert_starts", g.Experts + 1}, {"expert_members", p.Width * g.K}} {
			list := p.NewValue(v.name, s.Layer, v.n)
			list.Elem, list.Joint = ir.Index, true
			group.Out = append(group.Out, list)
		}
		after[s] = &ir.Launch{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{group}}}}
		for _, r := range uses.Readers(op.Out[0]) {
			for _, m := range r.Ops {
				if m.Kind == ir.ExpertsMatVec {
					m.In = append(slices.Clone(m.In[:1]), ir.All(group.Out[0]), ir.All(group.Out[1]))
				}
			}
		}
	})
	for i := len(p.Launches) - 1; i >= 0; i-- {
		if s := after[p.Launches[i]]; s != nil {
			p.Launches = slices.Insert(p.Launches, i+1, s)
		}
	}
	return nil
}

func fuseGroupExperts(p *ir.Program) error {
	pullInto(p, ir.GroupExperts, ir.RouteWeights)
	return nil
}

func fuseResidual(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() == "A" {
			pull(uses, part, part.Ops[0].In[1].V)
		}
	})
	return nil
}

// fuseNorm copies a norm into all parts that read it, or into none if one of them cannot compute it.
func fuseNorm(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() != "N" {
			return
		}
		norm := part.Ops[0]
		readers := uses.Readers(norm.Out[0])
		for _, r := range readers {
			if r.Find(ir.StoreKV) != nil || !ir.Composable(joined(r, part)) {
				return
			}
		}
		for _, r := range readers {
			r.Ops = append([]*ir.Op{copyNorm(p, r, norm)}, r.Ops...)
		}
		part.Ops = nil
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
		op.In = slices.Clone(op.In) // several ops may share the slice
		for i := range op.In {
			if op.In[i].V == old {
				op.In[i].V = out
			}
		}
	}
	return &c
}
