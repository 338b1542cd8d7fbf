package ir

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/plan"
)

// Target returns the facts about the devices that the program is for.
func (p *Program) Target() target.Target { return target.For(p.Spec.Class) }

// Batch reports whether the program is for a batch or one row, not for a prompt.
func (p *Program) Batch() bool { return p.Width <= p.Spec.BatchRows() }

// Wanted returns how many rows the head computes at most.
func (p *Program) Wanted() int { return plan.WantedRows(p.Width, p.Spec.BatchRows()) }

// Expands reports whether the program attends to expanded heads.
func (p *Program) Expands() bool {
	return p.Target().Expands(p.Width, p.Spec.BatchRows(), &p.Spec.Model.Dims, &p.Spec.Tuning.AttendHeads)
}

// Chunks reports whether the delta rule runs in chunks of rows.
func (p *Program) Chunks() bool {
	return p.Spec.Hybrid != nil && !p.Batch() && p.Target().DeltaChunks(p.Spec.Hybrid.HeadDim)
}

// Rows returns how many rows a launch computes. The head computes only the rows whose logits are wanted.
func (p *Program) Rows(s *Launch) int {
	output := func(v *Value) bool { return v.Output }
	if slices.ContainsFunc(s.Ops(), func(op *Op) bool { return slices.ContainsFunc(op.Out, output) }) {
		return p.Wanted()
	}
	return p.Width
}

// Shape returns the shape of the threadgroups of a launch's kernel.
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

// Matrices reports whether the kernel of a launch multiplies weights by the inputs of several rows in
// simdgroup matrices.
func (p *Program) Matrices(s *Launch) bool { return p.Width > 1 && !s.apart() && !p.Few(s) }

// Few reports whether the kernel of a launch is the mat-vec of one row, run with the inputs of all of several
// rows.
func (p *Program) Few(s *Launch) bool {
	if p.Width == 1 || s.apart() || s.grouped() > 0 {
		return false
	}
	return p.Target().TakesInputs(p.Rows(s), p.Spec.Tuning.OfWidth(s.Name(), p.Rows(s)) != nil)
}

// Apart reports whether each of several rows has threadgroups of its own for this part's mat-vec.
func (p *Part) Apart() bool {
	experts := p.Find(ExpertsMatVec)
	return experts != nil && !experts.Grouped() || p.Find(Combine) != nil && p.Find(MatVec) != nil
}

func (s *Launch) apart() bool { return slices.ContainsFunc(s.Parts, (*Part).Apart) }

// BatchExperts reports whether a launch multiplies by the experts that the rows of a batch have selected.
func (p *Program) BatchExperts(s *Launch) bool { return p.Batch() && s.grouped() > 0 }

// grouped returns how many expert matrices a launch multiplies by rows that are grouped by expert; 0: none.
func (s *Launch) grouped() (n int) {
	for _, op := range s.Ops() {
		if op.Kind == ExpertsMatVec && op.Grouped() {
			n++
		}
	}
	return n
}

// pairs reports whether each result of a launch needs two rows of weights, as in SwiGLU.
func (s *Launch) pairs() bool {
	return slices.ContainsFunc(s.Parts, func(part *Part) bool { return part.Find(SwiGLU) != nil })
}

// Results returns what the shape of a mat-vec launch depends on: the number of results that its matrices give
// for one row, and the largest number of inputs of a matrix. 0, 0: there are no matrices.
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

// ExpertTokens returns how many rows a threadgroup takes at a time in products of experts, with k experts per
// row; 0 if the program has only one row.
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

// ExpertShares returns how many threadgroups share the rows that select one expert; 0 if the program has only
// one row.
func (p *Program) ExpertShares(k int) int {
	if p.Width > 1 {
		return p.Target().ExpertShares(p.Width, k, p.Spec.MoE.NRoutedExperts)
	}
	return 0
}

// Tokens returns how many rows the mat-vecs of a launch take at a time; 0: one.
func (p *Program) Tokens(s *Launch) int {
	switch {
	case p.Matrices(s):
		return p.Target().ProductTokens(p.Rows(s))
	case p.Few(s):
		return p.Rows(s)
	}
	return 0
}
