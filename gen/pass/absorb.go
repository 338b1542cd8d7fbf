package pass

import (
	"fmt"

	"mla/gen/ir"
)

// absorb uses q·(W_UK c) = (W_UKᵀ q)·c and Σ p_j (W_UV c_j) = W_UV Σ p_j c_j
// (DeepSeek-V2, section 2.1.2): keys and values are never expanded.
func absorb(p *ir.Program) error {
	writers := map[*ir.Value]*ir.Op{}
	p.Ops(func(_ *ir.Step, _ *ir.Part, op *ir.Op) {
		for _, o := range op.Out {
			writers[o] = op
		}
	})
	var steps []*ir.Step
	for _, s := range p.Steps {
		op := s.Parts[0].Ops[0]
		switch op.Kind {
		case ir.Expand:
		case ir.Attention:
			keys, values := writers[op.In[2].V], writers[op.In[3].V]
			if keys == nil || values == nil || keys.Kind != ir.Expand || values.Kind != ir.Expand {
				return fmt.Errorf("layer %d: attention does not read expanded keys and values", s.Layer)
			}
			for _, o := range absorbed(p, s.Layer, op, keys, values) {
				steps = append(steps, &ir.Step{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{o}}}})
			}
		default:
			steps = append(steps, s)
		}
	}
	p.Steps = steps
	return nil
}

func absorbed(p *ir.Program, layer int, attn, keys, values *ir.Op) []*ir.Op {
	heads, c := attn.Heads, keys.In[0].Len
	qAbs := p.NewValue("q_abs", layer, heads*c)
	qAbs.Elem = ir.Half
	oLat := p.NewValue("o_lat", layer, heads*c)
	return []*ir.Op{
		{Kind: ir.MatVec, Name: "k_b", In: attn.In[:1], W: keys.W, Out: []*ir.Value{qAbs}, Batch: heads},
		{Kind: ir.LatentAttn, Name: "attend", Heads: heads, Scale: attn.Scale, Temperature: attn.Temperature, Out: []*ir.Value{oLat},
			In: []ir.Ref{ir.Batched(qAbs, 0, c, c), attn.In[1], ir.All(keys.In[0].V)}},
		{Kind: ir.MatVec, Name: "v_b", In: []ir.Ref{ir.Batched(oLat, 0, c, c)}, W: values.W, Out: attn.Out, Batch: heads},
	}
}

// splitKV cuts latent attention into a fixed number of splits of the cache
// (flash-decoding) and an exact combine.
func splitKV(p *ir.Program) error {
	t := p.Spec.Tuning.Attention
	var steps []*ir.Step
	for _, s := range p.Steps {
		steps = append(steps, s)
		op := s.Parts[0].Ops[0]
		if op.Kind != ir.LatentAttn {
			continue
		}
		out := op.Out[0]
		part := p.NewValue("attend_out", s.Layer, t.Splits*out.Len)
		ml := p.NewValue("attend_ml", s.Layer, t.Splits*op.Heads*2)
		op.Kind, op.Out, op.Splits, op.Tile = ir.AttendSplit, []*ir.Value{part, ml}, t.Splits, t.Tile
		steps = append(steps, &ir.Step{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{{
			Kind: ir.Combine, Name: "combine", Heads: op.Heads, Splits: t.Splits, Tile: t.Tile,
			In: []ir.Ref{ir.All(part), ir.All(ml)}, Out: []*ir.Value{out},
		}}}}})
	}
	p.Steps = steps
	return nil
}
