package ir

import (
	"mla/gen/spec"
	"mla/runtime/plan"
)

const simdWidth = 32

// Shape is the shape of the threadgroups of a step's kernel.
func (p *Program) Shape(s *Step) spec.Shape {
	rows, cols := 0, 0
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
	shape := p.Spec.Tuning.ShapeFor(s.ShapeName(), rows, cols)
	if p.Width > 1 { // a lane finishes one result of one row
		shape.RowsPerSimdgroup = min(shape.RowsPerSimdgroup, simdWidth/min(p.Width, plan.MaxTile))
	}
	return shape
}
