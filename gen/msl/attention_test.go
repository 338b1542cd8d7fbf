package msl

import (
	"unsafe"

	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// matrixTolerance is relative to the largest result of attention on a cache of
// halves or Q8_0. Queries, weights and what Q8_0 stands for are rounded to halves: 2^-12
// of each at most, and rounding errors of a sum of many have random signs.
const matrixTolerance = 0x1p-11

// inMatrices says whether a slot is a result of attention that may take the matrix
// form.
func (m *memory) inMatrices(slot int) bool {
	a, ok := m.k.Parts[0].(*plan.Attend)
	return ok && m.types[a.Cache.Slot] != quant.F32 && (slot == a.Out || slot == a.ML)
}

// rebase expresses the results of attention by want's references: the matrix form takes
// something near the maximum.
func (m *memory) rebase(want *memory) {
	if a, ok := m.k.Parts[0].(*plan.Attend); ok {
		rows := a.Splits.Used(m.pos+1) * a.Heads
		check.Rebase(float32s(m.data[a.ML])[:2*rows], float32s(want.data[a.ML]))
	}
}

// float32s are the float32 in a buffer.
func float32s(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
