package pass

import (
	"fmt"

	"mla/gen/ir"
)

// absorb makes attention read the latent cache directly, so that keys and values are never expanded. It uses
// q·(W_UK c) = (W_UKᵀ q)·c and Σ p_j (W_UV c_j) = W_UV Σ p_j c_j (DeepSeek-V2, arXiv 2405.04434, section
// 2.1.2).
func absorb(p *ir.Program) error {
	writers := map[*ir.Value]*ir.Op{}
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		for _, o := range op.Out {
			writers[o] = op
		}
	})
	var launches []*ir.Launch
	for _, s := range p.Launches {
		op := s.Parts[0].Ops[0]
		switch op.Kind {
		case ir.Expand:
		case ir.Attention:
			keys, values := writers[op.In[2].V], writers[op.In[3].V]
			if keys == nil || values == nil || keys.Kind != ir.Expand || values.Kind != ir.Expand {
				return fmt.Errorf("layer %d: attention does not read expanded keys and values", s.Layer)
			}
			for _, o := range absorbed(p, s.Layer, op, keys, values) {
				launches = append(launches, &ir.Launch{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{o}}}})
			}
		default:
			launches = append(launches, s)
		}
	}
	p.Launches = launches
	return nil
}

// absorbed returns the three ops that replace attention: the query times W_UKᵀ, latent attention, and its
// result times W_UV.
func absorbed(p *ir.Program, layer int, attn, keys, values *ir.Op) []*ir.Op {
	heads, c := attn.Heads, keys.In[0].Len
	attn.Note("absorb: a cache row is %d latent elements and %d of the rotated key, for all %d heads together; expanded keys and values would have %d",
		c, attn.In[1].Len, heads, heads*(p.Spec.Model.QKNopeHeadDim+p.Spec.Model.VHeadDim)+attn.In[1].Len)
	qAbs := p.NewValue("q_abs", layer, heads*c)
	qAbs.Elem = ir.Half
	oLat := p.NewValue("o_lat", layer, heads*c)
	if !CombinesApart.has(p) {
		oLat.Elem = ir.Half // mat-vecs read it as it is
	}
	return []*ir.Op{
		{Kind: ir.MatVec, Name: "k_b", In: attn.In[:1], W: keys.W, Out: []*ir.Value{qAbs}, Batch: heads},
		{Kind: ir.LatentAttn, Name: "attend", Heads: heads, Scale: attn.Scale, Temperature: attn.Temperature, Notes: attn.Notes, Out: []*ir.Value{oLat},
			In: []ir.Ref{ir.Batched(qAbs, 0, c, c), attn.In[1], ir.All(keys.In[0].V)}},
		{Kind: ir.MatVec, Name: "v_b", In: []ir.Ref{ir.Batched(oLat, 0, c, c)}, W: values.W, Out: attn.Out, Batch: heads},
	}
}

// splitKV cuts latent attention into a fixed number of splits of the cache, one threadgroup each, and an
// exact combine of their results (flash-decoding).
func splitKV(p *ir.Program) error {
	t := p.Spec.Tuning.Attention
	least, splits, perCore := p.Target().LeastRows(p.Width, t.Tile), p.Target().MostSplits(p.Width, t.Splits), 0
	if p.Width <= 1 { // several rows fill a GPU of any size without it
		perCore = t.PerCore
	}
	var launches []*ir.Launch
	for _, s := range p.Launches {
		launches = append(launches, s)
		op := s.Parts[0].Ops[0]
		if op.Kind != ir.LatentAttn {
			continue
		}
		out := op.Out[0]
		part := p.NewValue("attend_out", s.Layer, splits*out.Len)
		part.Elem = ir.Half
		ml := p.NewValue("attend_ml", s.Layer, splits*op.Heads*2)
		op.Note("split_kv: the cache is cut into at most %d splits of whole tiles of %d rows, a threadgroup each, so that one token's attention is spread over the GPU; a split costs its combine two or three rows' attention, so short contexts have fewer", splits, t.Tile)
		if least > 0 {
			op.Note("split_kv: several rows attend side by side, so that there are threadgroups enough with %d cache rows in a split at least", least)
		}
		if perCore > 0 {
			op.Note("split_kv: the device says how many of them there are: %d for each core of its GPU", perCore)
		}
		op.Kind, op.Out, op.Splits, op.Tile, op.Least, op.PerCore = ir.AttendSplit, []*ir.Value{part, ml}, splits, t.Tile, least, perCore
		launches = append(launches, &ir.Launch{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{{
			Kind: ir.Combine, Name: "combine", Heads: op.Heads, Splits: splits, Tile: t.Tile, Least: least, PerCore: perCore,
			In: []ir.Ref{ir.All(part), ir.All(ml)}, Out: []*ir.Value{out},
		}}}}})
	}
	p.Launches = launches
	return nil
}
