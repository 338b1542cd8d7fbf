package msl

import (
	"fmt"
	"testing"
	"unsafe"

	"mla/gen/target"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// matrixTolerance is relative to the largest result of attention on a cache of halves or Q8_0. Queries,
// weights and dequantised Q8_0 values are rounded to halves, each by 2^-12 at most. In a long sum the
// rounding errors have random signs.
const matrixTolerance = 0x1p-11

// inMatrices reports whether a slot is a result of attention that may take the matrix
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

// TestTurns: where all heads at a time would take too many registers, threadgroups of class apple go over their splits
// several times, in either form.
func TestTurns(t *testing.T) {
	t.Parallel()
	k := attendKernel("turns", 24, 256, 32, 4, plan.Splits{Count: 2, Tile: 16})
	a, err := attentionShape(k.Parts[0].(*plan.Attend), k.Threads, target.For(target.MetalClass).Budget(""))
	if err != nil || a.Heads != 8 || len(a.Matrix) != 2 || a.Matrix[0].Heads != 12 || a.Matrix[1].Heads != 12 {
		t.Fatalf("%+v, %v; expected 8 heads at a time, and of matrices 12", a, err)
	}
	e := executor(t, print(t, &plan.Bundle{Name: "turns", Class: target.MetalClass, Activations: plan.ElemF32, Kernels: []plan.Kernel{k}}))
	for i := range k.Variants {
		v := &k.Variants[i]
		for _, rows := range []int{1, 40} {
			t.Run(fmt.Sprintf("%s/%d", v.Types[0], rows), func(t *testing.T) { newMemory(&k, v, plan.ElemF32, rows-1).execute(t, e, v.Func) })
		}
	}
}
