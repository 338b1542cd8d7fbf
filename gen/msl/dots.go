package msl

import (
	"fmt"
	"strings"

	"mla/runtime/plan"
)

// dots is a part whose mat-vec reads columns Chunk of its input X. If the input is staged, the mat-vec runs
// once for each stage.
type dots struct {
	*partView
	X, Chunk string
	staged   bool
}

// Indent is the indentation of the lines that multiply.
func (d dots) Indent() string {
	if d.staged {
		return strings.Repeat(" ", 6)
	}
	return strings.Repeat(" ", 4)
}

// Staged, Combined and Direct are the places of a mat-vec's input: staged in threadgroup memory, combined
// there from splits of attention, or in device memory.
func (v *partView) Staged() dots   { return dots{v, "in_shared{xs, c}", "c, c + n", true} }
func (v *partView) Combined() dots { return dots{v, "in_shared{xs, 0u}", v.columns(), false} }
func (v *partView) Direct() dots   { return dots{v, v.InputOfRows(v.input()), v.columns(), false} }

// Preloads reports whether a lane loads its first blocks of weights before it waits for the inputs. Staged
// inputs do not allow it, because all threads wait for each stage. In the forms of target.Target.Parts a
// mat-vec that combines splits has no registers for it.
func (v *partView) Preloads() bool {
	p, ok := v.P.(*plan.MatVec)
	return ok && p.Norm == nil && (p.Combine == nil || !v.parts())
}

// Eager reports whether a mat-vec of one row lets the next dispatch start before it waits for the previous
// one. By then its lanes are loading their first weights.
func (v *partView) Eager() bool { return v.Preloads() && v.Width == 0 && v.printer.target().Eager() }

// Preload returns the type that holds the preloaded blocks of the weight in a slot.
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
