package msl

import (
	"mla/gen/target"
	"mla/runtime/plan"
)

// target is what the bundle's devices have.
func (p *printer) target() target.Target {
	return target.For(p.bundle.Class)
}

// floats is the threadgroup memory of a part in floats.
func (v *partView) floats() int {
	if v.body.floats == nil {
		return 0
	}
	return v.body.floats(v)
}

// laneFloats is that of a product whose lanes multiply.
func (v *partView) laneFloats() int {
	return v.SlicesAt() + v.slicesFloats(v.Product.Up, v.Product.NormApply)
}

// SlicesAt is where the sums of simdgroups that share rows are, after the input
// and what chooses the experts.
func (v *partView) SlicesAt() int {
	m := v.Product
	if m.Combine != nil {
		return m.Cols + combineFloats(m.Combine, m.Cols, v.Threads)
	}
	return v.normFloats(m.Norm) + chosenFloats(m.Gating)
}

// SliceFloats is one sum of every simdgroup for each of its results.
func (v *partView) SliceFloats() int { return v.Simdgroups() * v.Sums() }

// SquaresAt is where the simdgroups' sums of squares are, after their other sums.
func (v *partView) SquaresAt() int { return v.slicesFloats(v.Product.Up, nil) }

// slicesFloats are the sums of simdgroups that share rows.
func (v *partView) slicesFloats(up int, r *plan.NormApply) int {
	if v.Slices() < 2 {
		return 0
	}
	n := v.SliceFloats()
	if up >= 0 {
		n *= 2
	}
	if r != nil {
		n += v.Simdgroups() * v.Inputs()
	}
	return n
}

// StageFloats is how many inputs a norm stages at a time.
func (v *partView) StageFloats() int {
	_, cols := matrix(v.P)
	return min(cols, target.MaxStage)
}

// normFloats are the staged inputs and one share of Σ in² per simdgroup.
func (v *partView) normFloats(n *plan.Norm) int {
	if n == nil {
		return 0
	}
	return v.StageFloats() + v.Simdgroups()
}

// combineFloats are the factors of the splits and the sums of all teams but one.
func combineFloats(c *plan.Combine, dim, threads int) int {
	return target.CombineFloats(dim, c.Splits.Count, teams(dim, threads))
}

// teams is how many teams of threads combine splits, each with a thread for every
// four columns, or for each if their number is no multiple of four.
func teams(dim, threads int) int {
	if dim%4 == 0 {
		dim /= 4
	}
	return max(threads/max(dim, 1), 1)
}

// FactorsAt is where the factors of the splits are, after a combined input.
func (v *partView) FactorsAt() int {
	_, cols := matrix(v.P)
	return cols
}
