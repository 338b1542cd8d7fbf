package verify

import (
	"errors"
	"fmt"

	"mla/runtime/plan"
)

// checkPart checks one part's slots and dimensions.
func checkPart(k *plan.Kernel, p plan.Part) error {
	for _, u := range p.Uses() {
		if err := checkUse(k, &u); err != nil {
			return err
		}
	}
	if err := checkSizes(p); err != nil {
		return err
	}
	if err := checkBatch(k, p); err != nil {
		return err
	}
	if m := plan.ProductOf(p); m != nil {
		if err := checkProduct(k, p, m); err != nil {
			return err
		}
	}
	if s, heads := splitsOf(p); s != nil {
		if err := checkSplits(s, heads); err != nil {
			return err
		}
	}
	if g := GatingOf(p); g != nil {
		if err := checkGating(g); err != nil {
			return err
		}
	}
	if r, n := ropeOf(p); r != nil {
		if err := checkRope(r, n); err != nil {
			return err
		}
	}
	return checkOwn(k, p)
}

// checkOwn makes the checks that only one kind of part needs.
func checkOwn(k *plan.Kernel, p plan.Part) error {
	switch p := p.(type) {
	case *plan.MatVec:
		return checkMatVec(p)
	case *plan.Experts:
		if g := p.Gating; g != nil && g.K != p.K {
			return fmt.Errorf("chooses %d experts and runs %d", g.K, p.K)
		}
	case *plan.StoreKV:
		if p.Rope != nil && p.Rope.Dim != p.PeDim {
			return fmt.Errorf("rope over %d of %d key columns; expected all", p.Rope.Dim, p.PeDim)
		}
	case *plan.DeltaHeads:
		return checkDelta(k, p, p.Eps, p.Bound)
	case *plan.DeltaVectors:
		return checkDeltaRows(k, p, &p.DeltaRows)
	case *plan.DeltaChunks:
		return checkDeltaChunks(k, p)
	case *plan.DeltaFold:
		return checkDeltaFold(k, p)
	case *plan.DeltaColumns:
		return checkDeltaColumns(k, p)
	case *plan.GatedNormVec:
		return checkGatedNorm(k, p)
	case *plan.SwiGLUVec:
		return checkLimit(p.Limit)
	case *plan.Embed:
		return checkThreads(k, p.NormPartial, p.Dim, p.RowsPerGroup)
	case *plan.WeightedSum:
		return checkThreads(k, p.NormPartial, p.Dim, p.RowsPerGroup)
	case *plan.ScanPicks:
		return checkMaxBatch(p.MaxBatch)
	case *plan.PickTokens:
		return errors.Join(checkMaxBatch(p.MaxBatch), checkPick(p.Vocab, p.Scanned, k.Threads))
	}
	return nil
}

// checkSizes checks that dimensions are positive, and that products of two fit an int64.
func checkSizes(p plan.Part) error {
	for _, n := range p.Sizes() {
		if n < 1 || n > 1<<30 {
			return fmt.Errorf("%T: a dimension of %d", p, n)
		}
	}
	return nil
}

// checkMatVec checks combinations of pieces. A combined input has one entry per head and no other prologue. A
// norm of the results needs a single entry, and a rotation whole pairs of rows.
func checkMatVec(p *plan.MatVec) error {
	if c := p.Combine; c != nil && (c.Heads != p.Batch || p.Norm != nil || p.NormApply != nil) {
		return fmt.Errorf("combines %d heads for %d entries, or does more than combine", c.Heads, p.Batch)
	}
	if p.NormPartial != nil && p.Batch != 1 {
		return fmt.Errorf("a norm of %d entries; expected one", p.Batch)
	}
	if p.HeadGate != nil && (p.Up >= 0 || p.SquaredReLU || p.Rope != nil || p.Add >= 0 || p.NormPartial != nil) {
		return fmt.Errorf("gates of heads, and something else that is done to the results")
	}
	if p.Rope != nil && p.RowsPerGroup%2 != 0 {
		return fmt.Errorf("rope over groups of %d rows; expected even numbers", p.RowsPerGroup)
	}
	return nil
}

// splitsOf returns how a part's attention is split, and the number of heads; nil: it is not.
func splitsOf(p plan.Part) (s *plan.Splits, heads int) {
	if a, ok := p.(*plan.Attend); ok {
		return &a.Splits, a.Heads
	}
	if c := CombineOf(p); c != nil {
		return &c.Splits, c.Heads
	}
	return nil, 0
}

func checkSplits(s *plan.Splits, heads int) error {
	if s.Least < 0 || s.Least > MaxSplits || s.Least%max(s.Tile, 1) != 0 {
		return fmt.Errorf("splits of at least %d rows in tiles of %d; expected a multiple up to %d", s.Least, s.Tile, MaxSplits)
	}
	if s.PerCore < 0 || s.PerCore > MaxSplits {
		return fmt.Errorf("%d splits for each core; expected up to %d", s.PerCore, MaxSplits)
	}
	if max(s.Count, s.Tile, heads) > MaxSplits {
		return fmt.Errorf("%d splits in tiles of %d rows for %d heads; expected at most %d", s.Count, s.Tile, heads, MaxSplits)
	}
	return nil
}

// checkNormPartial checks that the results of a partial sum belong to one simdgroup.
func checkNormPartial(h *plan.NormPartial, rows, perSimdgroup int) error {
	if h == nil {
		return nil
	}
	if g := h.Group; g < 1 || g > SimdWidth || g&(g-1) != 0 || rows%g != 0 || perSimdgroup%g != 0 {
		return fmt.Errorf("sums of %d squares each, of %d rows, %d per simdgroup; expected a power of two that divides both", h.Group, rows, perSimdgroup)
	}
	return nil
}

// checkThreads is checkNormPartial for a part with one element per thread.
func checkThreads(k *plan.Kernel, h *plan.NormPartial, dim, perGroup int) error {
	if h != nil && perGroup != k.Threads {
		return fmt.Errorf("%d elements for %d threads that make partial sums; expected as many", perGroup, k.Threads)
	}
	return checkNormPartial(h, dim, SimdWidth)
}

func checkGating(g *plan.Gating) error {
	switch {
	case g.Experts < 1 || g.K < 1 || g.K > min(g.Experts, SimdWidth):
		return fmt.Errorf("%d of %d experts; expected at most %d", g.K, g.Experts, SimdWidth)
	case g.Groups > 1 && (g.Experts%g.Groups != 0 || g.KGroups < 1 || g.KGroups > g.Groups):
		return fmt.Errorf("%d of %d groups of %d experts", g.KGroups, g.Groups, g.Experts)
	case g.Groups > 1 && g.K > g.Experts/g.Groups*g.KGroups:
		return fmt.Errorf("%d experts of %d groups of %d", g.K, g.KGroups, g.Experts/g.Groups)
	}
	return nil
}

// ropeOf returns the rotation of a part, and the elements of an entry that it covers; nil: it rotates
// nothing.
func ropeOf(p plan.Part) (r *plan.RopeAt, n int) {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.Rope, p.Rows
	case *plan.RopeVec:
		return &p.Rope, p.Rope.HeadDim
	case *plan.StoreKV:
		return p.Rope, p.PeDim
	}
	return nil, 0
}

// checkRope checks that pairs do not cross head boundaries.
func checkRope(r *plan.RopeAt, n int) error {
	if r.Dim < 2 || r.Dim > r.HeadDim || r.Dim%2 != 0 || r.HeadDim%2 != 0 || n%2 != 0 {
		return fmt.Errorf("rope over %d of %d columns of %d; expected even numbers", r.Dim, r.HeadDim, n)
	}
	return nil
}
