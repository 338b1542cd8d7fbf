package pass

import (
	"mla/gen/ir"
)

// chunkDelta splits each delta rule into two ops: DeltaChunk, which does not depend on the state, and
// DeltaFold, which updates it.
func chunkDelta(p *ir.Program) error {
	var launches []*ir.Launch
	for _, s := range p.Launches {
		rule := s.Parts[0].Ops[0]
		if rule.Kind == ir.DeltaRule {
			n := rule.In[0].Len
			chunk := &ir.Op{Kind: ir.DeltaChunk, Name: "delta_chunk", Heads: rule.Heads, Scale: rule.Scale, In: rule.In}
			fold := &ir.Op{Kind: ir.DeltaFold, Name: "delta_fold", Heads: rule.Heads, Out: rule.Out, State: rule.State}
			for _, name := range []string{"seen", "known", "own", "value", "key", "kept"} {
				v := p.NewValue("delta_"+name, s.Layer, rule.Heads*n)
				chunk.Out, fold.In = append(chunk.Out, v), append(fold.In, ir.Batched(v, 0, n, n))
			}
			launches = append(launches, &ir.Launch{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{chunk}}}})
			s.Parts[0].Ops[0] = fold
		}
		launches = append(launches, s)
	}
	p.Launches = launches
	return nil
}

// fuseLinear makes one part of everything that linear attention computes per head between its input
// projections and its output projection: convolutions, SiLU, norms of queries and keys, both gates, the delta
// rule and the gated norm. Then the state is read and written once for all rows of a session, and a head's
// vectors never leave its threadgroup.
//
// In prompts it makes three parts. There the delta rule takes longer than memory traffic: several
// threadgroups share the columns of a head, and the rule's inputs are made for all rows in parallel, row by
// row or in chunks.
func fuseLinear(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() != "Z" {
			return
		}
		delta := uses.Writer(part.Ops[0].In[0].V)
		if delta != nil && delta.Signature() == "f" {
			delta = uses.Writer(delta.Ops[0].In[0].V)
		}
		if delta == nil || delta.Signature() != "D" && delta.Signature() != "k" {
			return
		}
		var from []*ir.Part
		for _, in := range delta.Ops[0].In {
			from = append(from, elementwise(uses, in.V)...)
		}
		into, last := part, delta
		switch {
		case p.Chunks():
			into, last, from = delta, from[len(from)-1], from[:len(from)-1]
		case !p.Batch():
			into, last, from = from[len(from)-1], from[len(from)-2], from[:len(from)-2]
		}
		if from = append(from, last); ir.Composable(joined(into, from...)) {
			join(uses, into, from...)
		}
	})
	return nil
}

// elementwise lists the parts of one op on the way from a projection to v, in order.
func elementwise(uses *ir.Uses, v *ir.Value) (list []*ir.Part) {
	for w := uses.Writer(v); w != nil && len(w.Ops) == 1 && len(uses.Readers(v)) == 1; w = uses.Writer(v) {
		switch w.Ops[0].Kind {
		case ir.Convolve, ir.SiLU, ir.L2Norm, ir.Sigmoid, ir.SoftplusDecay, ir.BoundedDecay:
		default:
			return list
		}
		list = append([]*ir.Part{w}, list...)
		v = w.Ops[0].In[0].V
	}
	return list
}

// fuseLowRank moves the second matrices of low-rank gates into linear attention, for one row. They are small,
// head_dim inputs for each result, and a dispatch of their own would take longer than they do. For several
// rows they stay matrix products.
func fuseLowRank(p *ir.Program) error {
	for _, kind := range []ir.Kind{ir.GatedNorm, ir.SoftplusDecay, ir.BoundedDecay} {
		eachPart(p, func(uses *ir.Uses, part *ir.Part) {
			op := part.Find(kind)
			if op == nil || part.Find(ir.DeltaRule) == nil {
				return
			}
			gate := op.In[len(op.In)-1].V // the gate of the norm, or the input of the decay
			if w := uses.Writer(gate); w != nil && w.Signature() == "M" && lowRank(p, w.Ops[0]) {
				pull(uses, part, gate)
			}
		})
	}
	return nil
}

// lowRank reports whether a mat-vec has head_dim inputs.
func lowRank(p *ir.Program, op *ir.Op) bool {
	return p.Weights[op.W[0].Row].Cols == p.Spec.Hybrid.HeadDim
}

// mergeLinear puts the projections of linear attention side by side, since all read the layer's input. The
// same goes for the second matrices of low-rank gates that have launches of their own.
func mergeLinear(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		first := m.launch("linear_q")
		for _, names := range [][]string{{"linear_k"}, {"linear_v"}, {"linear_f", "linear_f_a"}, {"linear_g", "linear_g_a"}, {"linear_beta"}} {
			m.merge(first, m.launch(names...))
		}
		m.merge(m.launch("linear_f_b"), m.launch("linear_g_b"))
	})
}

// fuseHeadGates multiplies each head by its gate in the part that makes the head's values.
func fuseHeadGates(p *ir.Program) error {
	eachPart(p, func(uses *ir.Uses, part *ir.Part) {
		if part.Signature() == "O" {
			pull(uses, part, part.Ops[0].In[0].V)
		}
	})
	return nil
}

// mergeHeadGate puts the projection of the head gates beside the first projections of the layer.
func mergeHeadGate(p *ir.Program) error {
	return eachLayer(p, func(m *merger) { m.merge(m.launch("q_a", "q"), m.launch("head_gate")) })
}
