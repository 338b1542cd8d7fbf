package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// maxRegisters bounds the floats that a thread of the attention kernel keeps in
// each of its two arrays: its part of the queries and its output sums.
const maxRegisters = 256

// attention is the shape of an attend kernel; see templates/msl/lib/attend.metal.
type attention struct {
	Width            int // columns of a cache row
	HeadLanes        int // lanes of a simdgroup that hold different heads, a power of two
	QueryColumns     int // columns of a query that one thread holds
	Queries          int // floats of queries that one thread holds
	ColumnsPerThread int // latent columns that one thread sums
	Sums             int // sums that one thread holds
	Tile             int // cache rows in threadgroup memory

	// Floats of threadgroup memory, in this order: the tile, the simdgroups'
	// shares of the scores, the softmax weights, (m, l) per head, and the
	// factor per head by which earlier sums shrink.
	TileFloats, ShareFloats, WeightFloats, MLFloats, ShrinkFloats int

	Matrix []matrixAttention // the matrix form, for the cache types that have it
}

// SplitsOf are the arguments of split_rows.
func (k *kernelView) SplitsOf(s plan.Splits) string {
	return fmt.Sprintf("%du, %du, %du", s.Count, s.Tile, max(s.Tile, s.Least))
}

// floats is the threadgroup memory of the largest form.
func (a *attention) floats() int {
	n := a.plainFloats()
	for i := range a.Matrix {
		n = max(n, a.Matrix[i].floats)
	}
	return n
}

func (a *attention) plainFloats() int {
	return a.TileFloats + a.ShareFloats + a.WeightFloats + a.MLFloats + a.ShrinkFloats
}

// attentionShape fits attention into registers and threadgroup memory, with the
// largest tile that divides the plan's, and the matrix forms into a budget.
func attentionShape(p *plan.Attend, threads int, budget *Budget) (*attention, error) {
	if p.Heads < 1 || p.LatDim < 1 || p.PeDim < 1 || p.Splits.Count < 1 || p.Splits.Tile < 1 {
		return nil, fmt.Errorf("attention over %d heads of %d + %d columns in %d splits of tiles of %d", p.Heads, p.LatDim, p.PeDim, p.Splits.Count, p.Splits.Tile)
	}
	simdgroups := threads / simdWidth
	a := &attention{Width: p.LatDim + p.PeDim, HeadLanes: 1, ColumnsPerThread: ceil(p.LatDim, threads), Matrix: matrixShapes(p, threads, budget)}
	for a.HeadLanes < min(p.Heads, simdWidth) {
		a.HeadLanes *= 2
	}
	a.QueryColumns = ceil(a.Width, simdgroups*(simdWidth/a.HeadLanes))
	a.Queries = a.QueryColumns * ceil(p.Heads, a.HeadLanes)
	a.Sums = a.ColumnsPerThread * p.Heads
	if a.Queries > maxRegisters || a.Sums > maxRegisters {
		return nil, fmt.Errorf("attention with %d simdgroups needs %d query and %d output floats per thread; expected at most %d: use more simdgroups",
			simdgroups, a.Queries, a.Sums, maxRegisters)
	}
	a.MLFloats, a.ShrinkFloats = 2*p.Heads, p.Heads
	for a.Tile = min(p.Splits.Tile, simdWidth); a.Tile > 0; a.Tile-- {
		a.TileFloats, a.ShareFloats, a.WeightFloats = a.Tile*a.Width, a.Tile*simdgroups*p.Heads, a.Tile*p.Heads
		if p.Splits.Tile%a.Tile == 0 && 4*a.plainFloats() <= maxThreadgroupBytes {
			return a, nil
		}
	}
	return nil, fmt.Errorf("attention over %d heads of %d columns with %d simdgroups does not fit %d bytes of threadgroup memory even one row at a time",
		p.Heads, a.Width, simdgroups, maxThreadgroupBytes)
}

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }
