package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// reach is how far the parts of a kernel reach into each of its slots.
type reach struct {
	kernel   *plan.Kernel
	model    *plan.Model
	elements []int64  // by slot, of one row; 0: unknown or none
	weights  []matrix // by slot, of weights
	places   []bool   // by slot: rows are read at their places in the sequence
	err      error
}

// matrix is the shape of a weight.
type matrix struct{ entries, rows, cols int }

// reachOf collects it from all parts.
func reachOf(k *plan.Kernel, m *plan.Model) (*reach, error) {
	r := &reach{kernel: k, model: m, elements: make([]int64, len(k.Slots)), weights: make([]matrix, len(k.Slots)), places: make([]bool, len(k.Slots))}
	for _, p := range k.AllParts() {
		r.part(p)
	}
	for i := range k.LastBlocks {
		r.numbers(k.LastBlocks[i].Counters, int64(k.LastBlocks[i].Part.Groups()))
	}
	return r, r.err
}

func (r *reach) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// want fails unless a condition holds.
func (r *reach) want(holds bool, format string, args ...any) {
	if !holds {
		r.fail(format, args...)
	}
}

// numbers says that a part reaches the first n elements of a slot. A weight that is a
// vector has exactly so many.
func (r *reach) numbers(slot int, n int64) {
	if r.kernel.Slots[slot].Space == plan.SpaceWeight {
		r.matrix(slot, 1, 1, int(n))
		return
	}
	r.elements[slot] = max(r.elements[slot], n)
}

// vec says that a part reaches entries of n elements. Offsets and strides are checked so
// that nothing overflows.
func (r *reach) vec(v plan.Vec, entries, n int) {
	if v.Offset < 0 || v.Stride < 0 || v.Offset > 1<<30 || v.Stride > 1<<30 {
		r.fail("slot %s: offset %d, stride %d", r.kernel.Slots[v.Slot].Name, v.Offset, v.Stride)
		return
	}
	r.numbers(v.Slot, int64(v.Offset)+int64(entries-1)*int64(v.Stride)+int64(n))
}

// also is vec for a slot that lies as v does; negative: there is none.
func (r *reach) also(slot int, v plan.Vec, entries, n int) {
	if v.Slot = slot; slot >= 0 {
		r.vec(v, entries, n)
	}
}

// output is vec for a result, which has no place of its own where only a norm reads it.
func (r *reach) output(v plan.Vec, entries, n int, h *plan.NormPartial) {
	r.also(v.Slot, v, entries, n)
	if h == nil {
		return
	}
	r.want(entries == 1, "a norm of %d entries; expected one", entries)
	r.numbers(h.Weight, int64(n))
	r.numbers(h.Ready, int64(n))
	r.numbers(h.Squares, int64(n/h.Group))
}

// matrix says which shape a weight has; entries that are more than one have their
// distance in the arguments.
func (r *reach) matrix(slot, entries, rows, cols int) {
	if slot < 0 {
		return
	}
	m := matrix{entries, rows, cols}
	if other := r.weights[slot]; other != (matrix{}) && other != m {
		r.fail("slot %s is of %d × %d × %d, and of %d × %d × %d", r.kernel.Slots[slot].Name, other.entries, other.rows, other.cols, entries, rows, cols)
	}
	r.weights[slot] = m
}

func (r *reach) norm(n *plan.Norm, cols int) {
	if n != nil {
		r.numbers(n.Weight, int64(cols))
	}
}

// input is what a mat-vec multiplies, with its prologue.
func (r *reach) input(v plan.Vec, entries, cols int, n *plan.Norm, s *plan.NormApply, c *plan.Combine) {
	if c != nil {
		r.want(c.Heads == entries && n == nil && s == nil, "combines %d heads for %d entries, or does more than combine", c.Heads, entries)
		r.combine(c, cols)
		return
	}
	r.want(n == nil || s == nil, "a norm and half a norm")
	r.vec(v, entries, cols)
	r.norm(n, cols)
	if s != nil {
		r.want(s.Count >= 1 && s.Count <= maxDimension, "%d sums of squares", s.Count)
		r.numbers(s.Squares, int64(s.Count))
	}
}

// splits is how many partial results there are of so many heads.
func (r *reach) splits(s plan.Splits, heads int) int64 {
	r.want(s.Least >= 0 && s.Least <= maxSplits && s.Least%max(s.Tile, 1) == 0, "splits of at least %d rows in tiles of %d; expected a multiple up to %d", s.Least, s.Tile, maxSplits)
	r.want(max(s.Count, s.Tile, heads) <= maxSplits, "%d splits in tiles of %d rows for %d heads; expected at most %d", s.Count, s.Tile, heads, maxSplits)
	return int64(s.Count) * int64(heads)
}

func (r *reach) combine(c *plan.Combine, dim int) {
	partials := r.splits(c.Splits, c.Heads)
	r.numbers(c.Out, partials*int64(dim))
	r.numbers(c.ML, partials*2)
}

// rope is a rotation of n elements by the table.
func (r *reach) rope(p *plan.RopeAt, n int) {
	if p != nil {
		r.want(p.Dim == r.model.QKRopeHeadDim && p.HeadDim >= p.Dim && n%p.HeadDim == 0,
			"rotates %d of %d elements, %d in all; the table has %d", p.Dim, p.HeadDim, n, r.model.QKRopeHeadDim)
		r.want(r.kernel.Slots[p.Table].Space == plan.SpaceRope, "slot %s is not the rotary table", r.kernel.Slots[p.Table].Name)
	}
}

// cache is a latent cache whose rows have so many elements.
func (r *reach) cache(c plan.Paged, dim int) {
	r.want(dim == r.model.CacheDim() && c.MaxPages == r.model.MaxPages(), "cache rows of %d with block tables of %d; the model has %d and %d",
		dim, c.MaxPages, r.model.CacheDim(), r.model.MaxPages())
	r.want(r.kernel.Slots[c.Tables].Space == plan.SpaceTables, "slot %s is no block tables", r.kernel.Slots[c.Tables].Name)
}

// gating is a choice among the model's experts, which it writes to routing.
func (r *reach) gating(g *plan.Gating) {
	n := r.model.MoE.NRoutedExperts
	r.want(g.Experts == n, "chooses from %d experts; the model has %d", g.Experts, n)
	r.numbers(g.Logits, int64(n))
	if g.Bias >= 0 {
		r.numbers(g.Bias, int64(n))
	}
}

func (r *reach) grouping(g *plan.Grouping) {
	n := r.model.MoE.NRoutedExperts
	r.want(g.Experts == n, "groups %d experts; the model has %d", g.Experts, n)
	r.numbers(g.Starts, int64(n)+1)
	r.numbers(g.Members, int64(r.kernel.Width)*int64(g.K))
}

// part adds one part. Kernel has checked its slots and dimensions.
func (r *reach) part(p plan.Part) {
	experts := r.model.MoE.NRoutedExperts
	switch p := p.(type) {
	case *plan.MatVec:
		r.matrix(p.W, p.Batch, p.Rows, p.Cols)
		r.matrix(p.Up, p.Batch, p.Rows, p.Cols)
		r.input(p.In, p.Batch, p.Cols, p.Norm, p.NormApply, p.Combine)
		r.rope(p.Rope, p.Rows)
		r.also(p.Add, p.Out, p.Batch, p.Rows)
		r.output(p.Out, p.Batch, p.Rows, p.NormPartial)
	case *plan.Experts:
		r.matrix(p.W, experts, p.Rows, p.Cols)
		r.matrix(p.Up, experts, p.Rows, p.Cols)
		r.input(p.In, p.K, p.Cols, p.Norm, p.NormApply, nil)
		r.vec(p.Out, p.K, p.Rows)
		if p.Persistent > 0 {
			r.numbers(p.Tickets, 1)
		}
		if p.Grouping != nil {
			r.grouping(p.Grouping)
			return
		}
		r.numbers(p.Routing, int64(p.K))
		if p.Gating != nil {
			r.want(p.Gating.K == p.K, "chooses %d experts and runs %d", p.Gating.K, p.K)
			r.gating(p.Gating)
		}
	case *plan.ExpertsSum:
		r.matrix(p.W, experts, p.Rows, p.Cols)
		r.vec(p.In, p.K, p.Cols)
		r.numbers(p.Routing, int64(p.K))
		if p.Shared >= 0 {
			r.matrix(p.Shared, 1, p.Rows, p.SharedCols)
			r.vec(p.SharedIn, 1, p.SharedCols)
		}
		r.also(p.Add, p.Out, 1, p.Rows)
		r.output(p.Out, 1, p.Rows, p.NormPartial)
	case *plan.StoreKV:
		r.vec(p.Lat, 1, p.LatDim)
		r.vec(p.KPe, 1, p.PeDim)
		r.norm(p.Norm, p.LatDim)
		r.rope(p.Rope, p.PeDim)
		r.cache(p.Cache, p.LatDim+p.PeDim)
	case *plan.Attend:
		r.vec(p.QAbs, p.Heads, p.LatDim)
		r.vec(p.QPe, p.Heads, p.PeDim)
		r.cache(p.Cache, p.LatDim+p.PeDim)
		r.combine(&plan.Combine{Out: p.Out, ML: p.ML, Splits: p.Splits, Heads: p.Heads}, p.LatDim)
	case *plan.AttendRows:
		r.want(max(p.Heads, p.Queries, p.Tile) <= maxSplits, "%d queries of %d heads in tiles of %d rows; expected at most %d", p.Queries, p.Heads, p.Tile, maxSplits)
		r.vec(p.QAbs, p.Heads, p.LatDim)
		r.vec(p.QPe, p.Heads, p.PeDim)
		r.cache(p.Cache, p.LatDim+p.PeDim)
		r.vec(p.Out, p.Heads, p.LatDim)
	case *plan.ExpandHeads:
		r.expand(p)
	case *plan.AttendHeads:
		r.attendHeads(p)
	case *plan.Embed:
		r.want(!wanted(r.kernel), "the tokens of rows that are wanted, which have places instead")
		r.matrix(p.W, 1, r.model.VocabSize, p.Dim)
		r.output(p.Out, 1, p.Dim, p.NormPartial)
	default:
		r.vectorPart(p)
	}
}

// vectorPart adds a part without a matrix.
func (r *reach) vectorPart(p plan.Part) {
	switch p := p.(type) {
	case *plan.NormVec:
		r.vec(p.In, 1, p.Dim)
		r.norm(&p.Norm, p.Dim)
		r.vec(p.Out, 1, p.Dim)
	case *plan.RopeVec:
		r.rope(&p.Rope, p.Rope.HeadDim)
		r.vec(p.In, p.Heads, p.Rope.HeadDim)
		r.vec(p.Out, p.Heads, p.Rope.HeadDim)
	case *plan.CombineVec:
		r.combine(&p.Combine, p.Dim)
		r.vec(p.Out, p.Combine.Heads, p.Dim)
	case *plan.SwiGLUVec:
		r.vec(p.Gate, 1, p.Dim)
		r.vec(p.Up, 1, p.Dim)
		r.vec(p.Out, 1, p.Dim)
	case *plan.AddVec:
		r.vec(p.A, 1, p.Dim)
		r.vec(p.B, 1, p.Dim)
		r.vec(p.Out, 1, p.Dim)
	case *plan.RouteVec:
		r.gating(&p.Gating)
		r.numbers(p.Routing, int64(p.Gating.K))
	case *plan.RouteBatch:
		r.gating(&p.Gating)
		r.numbers(p.Routing, int64(p.Gating.K))
		r.grouping(&p.Grouping)
	case *plan.GroupExperts:
		r.numbers(p.Routing, int64(p.Grouping.K))
		r.grouping(&p.Grouping)
	case *plan.GatherVec:
		r.want(wanted(r.kernel) && r.kernel.Slots[p.Vec].Space == plan.SpaceArena, "gathers rows that are not those wanted, or not within the arena")
		r.numbers(p.Vec, int64(p.Dim))
		r.places[p.Vec] = true
	case *plan.WeightedSum:
		r.vec(p.In, p.K, p.Dim)
		r.numbers(p.Routing, int64(p.K))
		for _, slot := range p.Add {
			r.also(slot, p.Out, 1, p.Dim)
		}
		r.output(p.Out, 1, p.Dim, p.NormPartial)
	default:
		r.samplePart(p)
	}
}
