package msl

import (
	"testing"
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

// TestAttentionRescales has scores that rise from row to row by more than a weight's
// range, so that the sums shrink again and again, and fall again; and scores of which two
// steps, together beyond that range, leave half of the sum to what has shrunk, so that it
// shows if it shrinks twice.
func TestAttentionRescales(t *testing.T) {
	for name, score := range map[string]func(row int) float64{
		"rising": func(row int) float64 { return float64(min(row, 120-row)) / 2 },
		"steps":  func(row int) float64 { return []float64{0, 7.5, 7.8}[row/32] }, // of a tile each
	} {
		k := attendKernel(name, 9, 64, 16, 4, plan.Splits{Count: 1, Tile: 16})
		k.Variants = k.Variants[1:]
		b := &plan.Bundle{Name: name, Activations: plan.ElemF32, Kernels: []plan.Kernel{k}}
		const rows = 96
		m := newMemory(&b.Kernels[0], &k.Variants[0], b.Activations, rows-1)
		a := k.Parts[0].(*plan.Attend)
		for row := range rows {
			for c := range 16 { // the rotated columns alone make the scores
				m.set(a.Cache.Slot, cached(a.Cache, row, 80).Offset+64+c, score(row)/(16*a.Scale))
			}
		}
		for i := range 9 * 64 {
			m.set(a.QAbs.Slot, i, 0)
		}
		for i := range 9 * 24 {
			m.set(a.QPe.Slot, i, 1)
		}
		m.execute(t, executor(t, print(t, b)), k.Variants[0].Func)
	}
}
