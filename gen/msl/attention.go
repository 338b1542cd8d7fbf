package msl

import (
	"fmt"

	"mla/gen/target"
	"mla/runtime/plan"
)

// attention is the shape of an attend kernel: the plain form, and the matrix form for the cache
// types that have it.
type attention struct {
	target.PlainAttention
	Matrix []matrixAttention
}

// SplitRows is the Metal expression for the cache rows of a split, where nkv is that for all rows.
func (k *kernelView) SplitRows(s plan.Splits, nkv string) (string, error) {
	least := max(s.Tile, s.Least)
	if s.PerCore == 0 {
		return fmt.Sprintf("split_rows<%du, %du, %du>(%s)", s.Count, s.Tile, least, nkv), nil
	}
	args, err := k.only(plan.SpaceArgs, "number of splits")
	return fmt.Sprintf("rows_of_splits<%du, %du>(%s, uint(%s.splits))", s.Tile, least, nkv, args), err
}

// floats is the threadgroup memory of the largest form.
func (a *attention) floats() int {
	n := a.Floats()
	for i := range a.Matrix {
		n = max(n, a.Matrix[i].floats)
	}
	return n
}

// attentionShape fits attention into registers and threadgroup memory, with the
// largest tile that divides the plan's, and the matrix forms into a budget.
func attentionShape(p *plan.Attend, threads int, budget *target.Budget) (*attention, error) {
	if p.Heads < 1 || p.LatDim < 1 || p.PeDim < 1 || p.Splits.Count < 1 || p.Splits.Tile < 1 {
		return nil, fmt.Errorf("attention over %d heads of %d + %d columns in %d splits of tiles of %d", p.Heads, p.LatDim, p.PeDim, p.Splits.Count, p.Splits.Tile)
	}
	simdgroups := threads / simdWidth
	a := &attention{Matrix: matrixShapes(p, threads, budget)}
	for tile := min(p.Splits.Tile, simdWidth); tile > 0; tile-- {
		a.PlainAttention = target.PlainAttentionOf(p.Heads, p.LatDim, p.PeDim, simdgroups, tile)
		if a.Queries > target.MaxRegisters || a.Sums > target.MaxRegisters {
			return nil, fmt.Errorf("attention with %d simdgroups needs %d query and %d output floats per thread; expected at most %d: use more simdgroups",
				simdgroups, a.Queries, a.Sums, target.MaxRegisters)
		}
		if p.Splits.Tile%tile == 0 && 4*a.Floats() <= target.ThreadgroupBytes {
			return a, nil
		}
	}
	return nil, fmt.Errorf("attention over %d heads of %d columns with %d simdgroups does not fit %d bytes of threadgroup memory even one row at a time",
		p.Heads, a.Width, simdgroups, target.ThreadgroupBytes)
}

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }
