package ir

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/plan"
)

// Target is what the devices have that a program is for.
func (p *Program) Target() target.Target { return target.For(p.Spec.Class) }

// Batch says whether a program is for a batch or one row, not for a prompt.
func (p *Program) Batch() bool { return p.Width <= p.Spec.BatchRows() }

// Wanted is how many of its rows the head computes.
func (p *Program) Wanted() int { return plan.WantedRows(p.Width, p.Spec.BatchRows()) }

// Expands says whether a program attends to expanded heads.
func (p *Program) Expands() bool {
	return p.Target().Expands(p.Width, p.Spec.BatchRows(), &p.Spec.Model.Dims, &p.Spec.Tuning.AttendHeads)
}

// Chunks says whether the delta rule goes by chunks of rows.
func (p *Program) Chunks() bool {
	return p.Spec.Hybrid != nil && !p.Batch() && p.Target().DeltaChunks(p.Width, p.Spec.Hybrid.HeadDim)
}

// Rows is how many rows a launch computes: of the head those whose logits are wanted.
func (p *Program) Rows(s *Launch) int {
	for _, part := range s.Parts {
		if slices.ContainsFunc(part.Ops, func(op *Op) bool { return slices.ContainsFunc(op.Out, func(v *Value) bool { return v.Output }) }) {
			return p.Wanted()
		}
	}
	return p.Width
}

// Shape is the shape of the threadgroups of a launch's kernel.
func (p *Program) Shape(s *Launch) target.Shape {
	rows, cols := p.Results(s)
	if p.Matrices(s) {
		if p.BatchExperts(s) {
			return p.Target().ExpertsShape()
		}
		if s.grouped() > 0 {
			rows *= max(1, min(p.Width, p.Spec.MoE.NRoutedExperts/p.Spec.MoE.NumExpertsPerTok)) // all rows' experts
		}
		return p.Target().ProductShape(p.Rows(s), target.ProductSize{Rows: rows, Cols: cols, Pairs: s.pairs()})
	}
	shape := p.Target().MatVec(p.Spec.Tuning.ShapeOf(s.Name(), p.Width), rows, cols)
	if p.Few(s) {
		shape = target.FewShape(shape, p.Rows(s))
	}
	return shape
}

// Matrices says whether the kernel of a launch multiplies by the inputs of several rows in simdgroup
// matrices.
func (p *Program) Matrices(s *Launch) bool { return p.Width > 1 && !s.apart() && !p.Few(s) }

// Few says whether it is that of one row, with the inputs of all.
func (p *Program) Few(s *Launch) bool {
	if p.Width == 1 || s.apart() || s.grouped() > 0 {
		return false
	}
	return p.Target().TakesInputs(p.Rows(s), p.Spec.Tuning.OfWidth(s.Name(), p.Rows(s)) != nil)
}

// Apart says whether each of several rows has threadgroups of its own for a part that multiplies.
func (p *Part) Apart() bool {
	experts := p.Find(ExpertsMatVec)
	return experts != nil && !experts.Grouped() || p.Find(Combine) != nil && p.Find(MatVec) != nil
}

func (s *Launch) apart() bool { return slices.ContainsFunc(s.Parts, (*Part).Apart) }

// BatchExperts says whether a launch multiplies by what the rows of a batch have selected.
func (p *Program) BatchExperts(s *Launch) bool { return p.Batch() && s.grouped() > 0 }

// grouped is how many matrices of experts a launch multiplies by what all rows have selected; 0: none.
func (s *Launch) grouped() (n int) {
	for _, part := range s.Parts {
		for _, op := range part.Ops {
			if op.Kind == ExpertsMatVec && op.Grouped() {
				n++
			}
		}
	}
	return n
}

// pairs says whether a launch makes results of two rows of weights each.
func (s *Launch) pairs() bool {
	return slices.ContainsFunc(s.Parts, func(part *Part) bool { return part.Find(SwiGLU) != nil })
}

// Results is what a shape follows from: how many results the matrices of a launch give, of
// one row, and the most inputs that one of them takes. 0, 0: there are no matrices.
func (p *Program) Results(s *Launch) (rows, cols int) {
	for _, part := range s.Parts {
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
	switch tokens := p.Target().ExpertTokens(p.Width, k, p.Spec.MoE.NRoutedExperts); {
	case p.Width == 1:
		return 0
	case p.Batch():
		return min(tokens, target.BatchTile)
	default:
		return tokens
	}
}

// ExpertShares is how many threadgroups share what selects an expert; 0 if the program has but one row.
func (p *Program) ExpertShares(k int) int {
	if p.Width > 1 {
		return p.Target().ExpertShares(p.Width, k, p.Spec.MoE.NRoutedExperts)
	}
	return 0
}

// Tokens is how many rows the mat-vecs of a launch take at a time; 0 if the program has but one.
func (p *Program) Tokens(s *Launch) int {
	switch {
	case p.Matrices(s):
		return p.Target().ProductTokens(p.Rows(s))
	case p.Few(s):
		return p.Rows(s)
	}
	return 0
}
