package msl

import (
	"fmt"
	"strings"

	"mla/runtime/plan"
)

// dots is a part whose mat-vec reads its input from X: the columns Chunk, some
// at a time if the input is staged.
type dots struct {
	*partView
	X, Chunk string
	staged   bool
}

// Indent is that of the lines that multiply.
func (d dots) Indent() string {
	if d.staged {
		return strings.Repeat(" ", 6)
	}
	return strings.Repeat(" ", 4)
}

// Staged, Combined and Direct say where the mat-vec finds its input.
func (v *partView) Staged() dots   { return dots{v, "in_shared{xs, c}", "c, c + n", true} }
func (v *partView) Combined() dots { return dots{v, "in_shared{xs, 0u}", v.columns(), false} }
func (v *partView) Direct() dots   { return dots{v, v.InputOfRows(v.input()), v.columns(), false} }

// Preloads says whether a lane loads its first blocks before the inputs are there. Those that pass in
// stages wait for all of the threadgroup between. Where attention goes by parts (see target.Target.Parts) a thread has no registers for them beside the
// splits that it combines.
func (v *partView) Preloads() bool {
	p, ok := v.P.(*plan.MatVec)
	return ok && p.Norm == nil && (p.Combine == nil || !v.parts())
}

// Eager says whether a mat-vec of one row lets the next dispatch begin before it waits itself. Its lanes have their
// first weights on their way by then.
func (v *partView) Eager() bool { return v.Preloads() && v.Width == 0 && v.printer.target().Eager() }

// Preload is the type of what it loads of the weight in a slot.
func (v *partView) Preload(slot int) string {
	_, cols := matrix(v.P)
	matrices := 1
	if v.P.(*plan.MatVec).Up >= 0 {
		matrices = 2
	}
	return fmt.Sprintf("preload<%s, %d, %du, %du, %du>", v.Tag(slot), v.N, cols, v.Lanes(), matrices)
}

func (v *partView) columns() string {
	_, cols := matrix(v.P)
	return fmt.Sprintf("0u, %du", cols)
}
