package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Attention of many rows has queries of several rows where attention of one row has the
// queries of its heads; see templates/msl/attend_rows.msl.

// rowsBudget lets the plan's tile be: the spec's tuning chooses it together with the number of
// queries, for a class of devices. No device has more registers.
var rowsBudget = Budget{Registers: 255, Scaled: 255, Threads: maxThreads}

// asHeads is the attention of one row that has as many heads as a threadgroup has queries.
func asHeads(p *plan.AttendRows) *plan.Attend {
	return &plan.Attend{QAbs: p.QAbs, QPe: p.QPe, Heads: p.Queries, LatDim: p.LatDim, PeDim: p.PeDim, Scale: p.Scale,
		Temperature: p.Temperature, Cache: p.Cache, Splits: plan.Splits{Count: 1, Tile: p.Tile}}
}

// rowsShape is the shape of attention of many rows.
func rowsShape(p *plan.AttendRows, threads int) (*attention, error) {
	heads := asHeads(p)
	a, err := attentionShape(heads, threads, &rowsBudget)
	if err != nil {
		return nil, err
	}
	most := simdWidth
	for most > p.Tile {
		most /= 2
	}
	a.Matrix = matrixShapes(heads, threads, &rowsBudget, most)
	return a, nil
}

// StepLength is over how many positions the scores' temperature is one.
func (v *partView) StepLength() int {
	if p, ok := v.P.(*plan.AttendHeads); ok {
		return max(p.Temperature.Length, 1)
	}
	return max(v.P.(*plan.AttendRows).Temperature.Length, 1)
}

// QueriesOf is the type of the queries in a slot.
func (v *partView) QueriesOf(q plan.Vec) string {
	return fmt.Sprintf("in_queries<%du, %du, %s>", v.P.(*plan.AttendRows).Heads, v.Width, v.InputKind(q))
}

// ResultsOf is the type of what takes their results.
func (v *partView) ResultsOf(out plan.Vec) string {
	return fmt.Sprintf("out_queries<%du, %du, %s>", v.P.(*plan.AttendRows).Heads, v.Width, v.printer.elemType(v.Slots[out.Slot].Elem))
}
