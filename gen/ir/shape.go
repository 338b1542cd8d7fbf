package ir

import "mla/gen/spec"

// Shape is the shape of the threadgroups of a step's kernel.
func (p *Program) Shape(s *Step) spec.Shape {
	rows, cols := p.Results(s)
	if p.Width > 1 {
		return spec.ProductShape(p.Width, rows, cols)
	}
	return p.Spec.Tuning.ShapeFor(s.ShapeName(), rows, cols)
}

// Results is what a shape follows from: how many results the matrices of a step give, of
// one row, and the most inputs that one of them takes. 0, 0: there are no matrices.
func (p *Program) Results(s *Step) (rows, cols int) {
	for _, part := range s.Parts {
		if part.Tail != nil {
			continue // it takes the threadgroups as they are
		}
		sum := part.Find(WeightedSum) != nil
		for _, op := range part.Ops {
			if op.Kind != MatVec && op.Kind != ExpertsMatVec {
				continue
			}
			w := &p.Weights[op.W[0].Row]
			n := max(op.Batch, op.K, 1)
			if sum {
				n = 1 // the same rows of all experts
			}
			rows, cols = rows+n*w.Rows, max(cols, w.Cols)
		}
	}
	return rows, cols
}

// ExpertTokens is how many rows the products of experts take at a time, k experts a row; 0 if the
// program has but one row.
func (p *Program) ExpertTokens(k int) int {
	if p.Width > 1 {
		return spec.ExpertTokens(p.Width, k, p.Spec.MoE.NRoutedExperts)
	}
	return 0
}

// ExpertShares is how many threadgroups share what selects an expert; 0 if the program has but one row.
func (p *Program) ExpertShares(k int) int {
	if p.Width > 1 {
		return spec.ExpertShares(p.Width, k, p.Spec.MoE.NRoutedExperts)
	}
	return 0
}

// Tokens is how many rows the program's products take at a time; 0 if it has but one.
func (p *Program) Tokens() int {
	if p.Width > 1 {
		return spec.ProductTokens(p.Width)
	}
	return 0
}
