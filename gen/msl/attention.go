package msl

import (
	"fmt"

	"mla/gen/target"
	"mla/runtime/plan"
)

// attention is the shape of an attend kernel: of its plain form, and of its matrix form for each cache type
// that has one.
type attention struct {
	target.PlainAttention
	Heads  int // heads that attend at a time
	Matrix []matrixAttention
}

// SplitRows returns the Metal expression for the number of cache rows of a split. nkv is the expression for
// the number of cache rows of all splits.
func (k *kernelView) SplitRows(s plan.Splits, nkv string) (string, error) {
	least := max(s.Tile, s.Least)
	if s.PerCore == 0 {
		return fmt.Sprintf("split_rows<%du, %du, %du>(%s)", s.Count, s.Tile, least, nkv), nil
	}
	args, err := k.only(plan.SpaceArgs, "number of splits")
	return fmt.Sprintf("rows_of_splits<%du, %du>(%s, uint(%s.splits))", s.Tile, least, nkv, args), err
}

// floats returns the threadgroup memory of the largest form, in floats.
func (a *attention) floats() int {
	n := a.Floats()
	for i := range a.Matrix {
		n = max(n, a.Matrix[i].floats)
	}
	return n
}

// attentionShape fits the plain form into registers and threadgroup memory, and the matrix forms into a
// budget. It fails if the plain form does not fit.
func attentionShape(p *plan.Attend, threads int, budget *target.Budget) (*attention, error) {
	if p.Heads < 1 || p.LatDim < 1 || p.PeDim < 1 || p.Splits.Count < 1 || p.Splits.Tile < 1 {
		return nil, fmt.Errorf("attention over %d heads of %d + %d columns in %d splits of tiles of %d", p.Heads, p.LatDim, p.PeDim, p.Splits.Count, p.Splits.Tile)
	}
	a := &attention{Matrix: matrixShapes(p, threads, budget)}
	var err error
	for _, a.Heads = range turns(p.Heads, budget) {
		err = a.fitPlain(p, threads/simdWidth)
		if r := a.plainRegisters(); err == nil && r.Held() <= r.Budget(budget) {
			break
		}
	}
	return a, err
}

// turns lists the numbers of heads that may attend at a time: all heads, and if the budget allows several
// turns also their divisors, falling.
func turns(heads int, budget *target.Budget) (list []int) {
	for n := 1; n <= heads; n++ {
		if heads%n == 0 {
			list = append(list, heads/n)
		}
		if !budget.Turns {
			break
		}
	}
	return list
}

// fitPlain fits the plain form into threadgroup memory, with the largest tile that divides the plan's tile.
func (a *attention) fitPlain(p *plan.Attend, simdgroups int) error {
	for tile := min(p.Splits.Tile, simdWidth); tile > 0; tile-- {
		a.PlainAttention = target.PlainAttentionOf(a.Heads, p.LatDim, p.PeDim, simdgroups, tile)
		if a.Queries > target.MaxRegisters || a.Sums > target.MaxRegisters {
			return fmt.Errorf("attention with %d simdgroups needs %d query and %d output floats per thread; expected at most %d: use more simdgroups",
				simdgroups, a.Queries, a.Sums, target.MaxRegisters)
		}
		if p.Splits.Tile%tile == 0 && 4*a.Floats() <= target.ThreadgroupBytes {
			return nil
		}
	}
	return fmt.Errorf("attention over %d heads of %d columns with %d simdgroups does not fit %d bytes of threadgroup memory even one row at a time",
		a.Heads, a.Width, simdgroups, target.ThreadgroupBytes)
}

// HeadsAtATime returns how many heads attend at a time in the form that is printed.
func (v *partView) HeadsAtATime() int {
	if v.Matrix != nil {
		return v.Matrix.Heads
	}
	return v.Attention.Heads
}

// FirstHead returns the variable with the first of these heads; "" if all heads attend at once.
func (v *partView) FirstHead() string {
	if v.HeadsAtATime() == v.P.(*plan.Attend).Heads {
		return ""
	}
	return "head"
}

// SkippedHeads returns the term that an index into an array with n numbers per head has for the heads before
// FirstHead.
func (v *partView) SkippedHeads(n int) string {
	if v.FirstHead() == "" {
		return ""
	}
	return fmt.Sprintf(" + %s * %du", v.FirstHead(), n)
}

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }
