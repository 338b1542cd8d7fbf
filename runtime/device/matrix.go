package device

import "mla/runtime/plan"

// Matrix is a weight that a part reads by whole rows.
type Matrix struct {
	Slot int // of the kernel
	Rows int // that a token needs: of experts those of the selected ones
	Cols int
}

// Matrices lists the matrices of a part.
func Matrices(p plan.Part) []Matrix {
	var list []Matrix
	add := func(slot, rows, cols int) {
		if slot >= 0 {
			list = append(list, Matrix{slot, rows, cols})
		}
	}
	switch p := p.(type) {
	case *plan.Embed:
		add(p.W, 1, p.Dim)
	case *plan.MatVec:
		add(p.W, p.Batch*p.Rows, p.Cols)
		add(p.Up, p.Batch*p.Rows, p.Cols)
	case *plan.Experts:
		add(p.W, p.K*p.Rows, p.Cols)
		add(p.Up, p.K*p.Rows, p.Cols)
	case *plan.ExpertsSum:
		add(p.W, p.K*p.Rows, p.Cols)
		add(p.Shared, p.Rows, p.SharedCols)
	}
	return list
}
