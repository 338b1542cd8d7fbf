//go:build deep

package msl

import (
	"bytes"
	"fmt"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestHalfQueriesAreExact runs attention on queries of halves, and on the same queries as
// floats: a query of halves is the one half that the matrix form takes of it, so the
// results have the same bits.
func TestHalfQueriesAreExact(t *testing.T) {
	b := &plan.Bundle{Name: "halves", Activations: plan.ElemF16}
	for i, shape := range oddAttention {
		k := attendKernel(fmt.Sprintf("halves_%d", i), shape.heads, shape.lat, shape.pe, shape.simdgroups, plan.Splits{Count: 3, Tile: shape.tile})
		k.Variants = k.Variants[1:]
		b.Kernels = append(b.Kernels, k)
	}
	halves := executor(t, print(t, b))
	wide := *b
	wide.Activations = plan.ElemF32
	floats := executor(t, print(t, &wide))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		a := k.Parts[0].(*plan.Attend)
		t.Run(k.Name, func(t *testing.T) {
			m := newMemory(k, &k.Variants[0], plan.ElemF16, 37)
			same := m.clone()
			same.act = plan.ElemF32
			for _, slot := range []int{a.QAbs.Slot, a.QPe.Slot, a.Out} {
				same.data[slot] = make([]byte, 2*len(m.data[slot]))
				for i := range len(m.data[slot]) / 2 {
					same.set(slot, i, m.at(slot, i))
				}
			}
			m.execute(t, halves, k.Variants[0].Func)
			same.execute(t, floats, k.Variants[0].Func)
			if !bytes.Equal(m.data[a.ML], same.data[a.ML]) {
				t.Errorf("%s differs", k.Slots[a.ML].Name)
			}
			for i := range len(m.data[a.Out]) / 2 {
				if got, want := m.at(a.Out, i), same.at(a.Out, i); got != float64(quant.HalfToFloat(quant.FloatToHalf(float32(want)))) {
					t.Fatalf("number %d of %s is %g, of floats %g", i, k.Slots[a.Out].Name, got, want)
				}
			}
		})
	}
}

// TestAttentionRescales runs attention on two kinds of scores. The first rise from row to row by more than a
// weight's range, so that the sums shrink again and again, and then fall. The second rise in two steps,
// together by more than that range, and half of the sum comes from weights that have shrunk, so that the
// result is wrong if they shrink twice.
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
