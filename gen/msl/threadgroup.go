package msl

import (
	"mla/gen/target"
	"mla/runtime/plan"
)

// target returns the facts about the bundle's devices.
func (p *printer) target() target.Target {
	return target.For(p.bundle.Class)
}

// floats returns the threadgroup memory of a part, in floats.
func (v *partView) floats() int {
	if v.body.floats == nil {
		return 0
	}
	return v.body.floats(v)
}

// laneFloats returns the threadgroup memory of a mat-vec, in floats.
func (v *partView) laneFloats() int {
	return v.SlicesAt() + v.slicesFloats(v.Product.Up, v.Product.NormApply)
}

// SlicesAt returns where simdgroups that share rows exchange sums: after the input and the selected expert.
func (v *partView) SlicesAt() int {
	m := v.Product
	if m.Combine != nil {
		return m.Cols + combineFloats(m.Combine, m.Cols, v.Threads)
	}
	return v.normFloats(m.Norm) + chosenFloats(m.Gating)
}

// SliceFloats returns one sum of every simdgroup for each of its results.
func (v *partView) SliceFloats() int { return v.Simdgroups() * v.Sums() }

// SquaresAt returns where the simdgroups' sums of squares are, after their other sums.
func (v *partView) SquaresAt() int { return v.slicesFloats(v.Product.Up, nil) }

// slicesFloats returns how many sums simdgroups that share rows exchange.
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

// StageFloats returns how many inputs of a norm are staged at a time.
func (v *partView) StageFloats() int {
	_, cols := matrix(v.P)
	return min(cols, target.MaxStage)
}

// normFloats returns the staged inputs and one share of Σ in² per simdgroup.
func (v *partView) normFloats(n *plan.Norm) int {
	if n == nil {
		return 0
	}
	return v.StageFloats() + v.Simdgroups()
}

// combineFloats returns the factors of the splits and the sums of all teams but one.
func combineFloats(c *plan.Combine, dim, threads int) int {
	return target.CombineFloats(dim, c.Splits.Count, teams(dim, threads))
}

// teams returns how many teams of threads combine splits. A team has a thread for every four columns, or for
// every column if their number is no multiple of four.
func teams(dim, threads int) int {
	if dim%4 == 0 {
		dim /= 4
	}
	return max(threads/max(dim, 1), 1)
}

// FactorsAt returns where the factors of the splits are: after a combined input.
func (v *partView) FactorsAt() int {
	_, cols := matrix(v.P)
	return cols
}
