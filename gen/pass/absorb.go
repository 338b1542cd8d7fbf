package pass

import (
	"fmt"
	"slices"

	"mla/gen/ir"
	"mla/runtime/plan"
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
	attn.Note("absorb: a cache row is %d latent elements and %d of the rotated key, for all %d heads together; expanded keys and values would have %d",
		c, attn.In[1].Len, heads, heads*(p.Spec.Model.QKNopeHeadDim+p.Spec.Model.VHeadDim)+attn.In[1].Len)
	qAbs := p.NewValue("q_abs", layer, heads*c)
	qAbs.Elem = ir.Half
	oLat := p.NewValue("o_lat", layer, heads*c)
	if !CombinesApart.has(p) {
		oLat.Elem = ir.Half // the mat-vecs' input as it is
	}
	return []*ir.Op{
		{Kind: ir.MatVec, Name: "k_b", In: attn.In[:1], W: keys.W, Out: []*ir.Value{qAbs}, Batch: heads},
		{Kind: ir.LatentAttn, Name: "attend", Heads: heads, Scale: attn.Scale, Temperature: attn.Temperature, Notes: attn.Notes, Out: []*ir.Value{oLat},
			In: []ir.Ref{ir.Batched(qAbs, 0, c, c), attn.In[1], ir.All(keys.In[0].V)}},
		{Kind: ir.MatVec, Name: "v_b", In: []ir.Ref{ir.Batched(oLat, 0, c, c)}, W: values.W, Out: attn.Out, Batch: heads},
	}
}

// leastRows are how many cache rows a split has at least where so many rows attend side by side:
// 4, 8 and 16 rows at 512 cache rows each are 64 to 128 threadgroups then, where a large GPU has
// 132 multiprocessors. Two rows have one tile, as a row alone, whose sums they then have. Fewer cache
// rows for more threadgroups would find no multiprocessor free, and each split leaves its combine as
// many bytes as 28 rows of a cache of halves have. Measured on an NVIDIA H200 (docs/performance.md).
var leastRows = []struct{ width, rows int }{
	{2, 0},
	{4, 32},
	{8, 64},
	{plan.MaxBatch, 64},
}

// least is the entry for a width, in whole tiles.
func least(width, tile int) int {
	if width <= 1 {
		return 0
	}
	i := slices.IndexFunc(leastRows, func(l struct{ width, rows int }) bool { return width <= l.width })
	return (leastRows[i].rows + tile - 1) / tile * tile
}

// attendGroups is how many threadgroups attend side by side at the most: some two for every multiprocessor of a
// large GPU, which has room for one at a time, or as many as one row's splits. Those of splits that a
// context does not have yet end at once, but each takes its turn: of 1,024 for 16 rows of 512 cache
// rows, 880 did so on an NVIDIA H200, a fifth of all that its warps waited for. 4, 8 and 16 sessions of
// Youtu-LLM ran at 2,837, 5,097 and 8,114 tok/s, with 1,024 at 2,929, 5,140 and 8,067: no more than noise.
const attendGroups = 256

// mostSplits is how many splits each of so many rows has.
func mostSplits(width, splits int) int { return min(splits, max(1, attendGroups/width)) }

// splitKV cuts latent attention into a fixed number of splits of the cache
// (flash-decoding) and an exact combine.
func splitKV(p *ir.Program) error {
	t := p.Spec.Tuning.Attention
	least, splits := least(p.Width, t.Tile), mostSplits(p.Width, t.Splits)
	var steps []*ir.Step
	for _, s := range p.Steps {
		steps = append(steps, s)
		op := s.Parts[0].Ops[0]
		if op.Kind != ir.LatentAttn {
			continue
		}
		out := op.Out[0]
		part := p.NewValue("attend_out", s.Layer, splits*out.Len)
		ml := p.NewValue("attend_ml", s.Layer, splits*op.Heads*2)
		op.Note("split_kv: the cache is cut into at most %d splits of whole tiles of %d rows, a threadgroup each, so that one token's attention is spread over the GPU; a split costs its combine two or three rows' attention, so short contexts have fewer", splits, t.Tile)
		if least > 0 {
			op.Note("split_kv: several rows attend side by side, so that there are threadgroups enough with %d cache rows in a split at least", least)
		}
		op.Kind, op.Out, op.Splits, op.Tile, op.Least = ir.AttendSplit, []*ir.Value{part, ml}, splits, t.Tile, least
		steps = append(steps, &ir.Step{Layer: s.Layer, Parts: []*ir.Part{{Ops: []*ir.Op{{
			Kind: ir.Combine, Name: "combine", Heads: op.Heads, Splits: splits, Tile: t.Tile, Least: least,
			In: []ir.Ref{ir.All(part), ir.All(ml)}, Out: []*ir.Value{out},
		}}}}})
	}
	p.Steps = steps
	return nil
}
