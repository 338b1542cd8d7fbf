//go:build deep

package msl

import (
	"fmt"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestAttendRows runs all shapes on all caches and with both activations. Dead rows, and what
// lies between the rows, stay as they were.
func TestAttendRows(t *testing.T) {
	for _, act := range []plan.Elem{plan.ElemF32, plan.ElemF16} {
		b := &plan.Bundle{Name: "rows", Activations: act}
		for i, s := range manyRows {
			k := rowsKernel(fmt.Sprintf("rows_%d", i), s.heads, s.lat, s.pe, s.width, s.queries, s.simdgroups, s.tile)
			a, err := rowsShape(k.Parts[0].(*plan.AttendRows), k.Threads)
			if err != nil {
				t.Fatal(err)
			}
			if (a.matrix(quant.F16) != nil) != s.matrix {
				t.Errorf("%+v: matrix forms %+v", s, a.Matrix)
			}
			for _, m := range a.Matrix {
				if m.Tile != s.tile {
					t.Errorf("%+v: matrix form %+v", s, m)
				}
			}
			b.Kernels = append(b.Kernels, k)
		}
		e := executor(t, print(t, b))
		for i := range b.Kernels {
			k := &b.Kernels[i]
			for j := range k.Variants {
				rows := rowsOf(k.Width)
				m := rowsMemory(k, &k.Variants[j], act, rows)
				t.Run(fmt.Sprintf("%s/%d", k.Variants[j].Func, act), func(t *testing.T) {
					want, before := m.clone(), m.clone()
					if err := e.Run(k.Variants[j].Func, k.Groups(), k.Threads, m.data); err != nil {
						t.Fatal(err)
					}
					want.attendRows(k.Parts[0].(*plan.AttendRows), rows)
					m.compare(t, want, before)
				})
			}
		}
	}
}
