package check

import (
	"math"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Caches of Q8_0 are laid out in planes, see plan.Planes.

// stepsOff is the share of a row's numbers that may be one step of their scale off. The kernel's sums differ
// from the reference's in their last bits, so a number that lies close to the middle between two steps is
// rarely rounded the other way. A kernel with another rounding rule is one step off in half of its numbers.
const stepsOff = 1.0 / 64

// scaled says whether a slot is a cache of Q8_0.
func (m *memory) scaled(slot int) bool {
	return m.kernel.Slots[slot].Space == plan.SpaceKV && m.types[slot] == quant.Q8_0
}

// pagesOf returns the bytes and the scales of each page of a cache of Q8_0.
func (m *memory) pagesOf(cache []byte) (qs [][]byte, scales [][]uint16) {
	numbers := plan.PageRows * m.model.Bundle.Model.CacheDim()
	size := len(cache) / m.config.Pages
	for ; len(cache) > 0; cache = cache[size:] {
		qs, scales = append(qs, cache[:numbers]), append(scales, halves(cache[numbers:size]))
	}
	return qs, scales
}

// fillScaled fills a cache of Q8_0 with normally distributed numbers.
func (m *memory) fillScaled(slot int) {
	qs, scales := m.pagesOf(m.buffers[slot])
	for i := range qs {
		quant.FloatsToScaledBytes(qs[i], scales[i], m.normal(len(qs[i]), 0, 1))
	}
}

// scaled compares caches of Q8_0, page by page and row by row. Rows that the reference does not write must be
// equal bit by bit.
func (d *difference) scaled(m *memory, got, want []byte) {
	gotQs, gotScales := m.pagesOf(got)
	wantQs, wantScales := m.pagesOf(want)
	dim := m.model.Bundle.Model.CacheDim()
	blocks := dim / 32
	for page := range wantQs {
		for row := range plan.PageRows {
			d.scaledRow(page*plan.PageRows+row, gotQs[page][row*dim:][:dim], wantQs[page][row*dim:][:dim],
				gotScales[page][row*blocks:][:blocks], wantScales[page][row*blocks:][:blocks])
		}
	}
}

// scaledRow compares one row: its scales as halves are compared, its numbers in steps.
func (d *difference) scaledRow(row int, got, want []byte, gotScales, wantScales []uint16) {
	off := 0
	for i := range want {
		g, w := float64(quant.HalfToFloat(gotScales[i/32])), float64(quant.HalfToFloat(wantScales[i/32]))
		switch step := int(int8(got[i])) - int(int8(want[i])); {
		case step == 0 && gotScales[i/32] == wantScales[i/32]: // includes NaNs where nothing was written
		case !(math.Abs(g-w) <= halfTolerance*w):
			d.add(math.Inf(1), "cache row %d: the scale of column %d is %g; the reference's %g", row, i, g, w)
		case step == 0:
		case step != 1 && step != -1:
			d.add(math.Inf(1), "cache row %d: column %d is %d; the reference's %d", row, i, int8(got[i]), int8(want[i]))
		default:
			off++
		}
	}
	if share := float64(off) / float64(len(want)); share > stepsOff {
		d.add(math.Inf(1), "cache row %d: %d of %d columns are a step from the reference's; expected at most one in %g", row, off, len(want), 1/stepsOff)
	}
}
