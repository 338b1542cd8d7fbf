//go:build deep

package msl

import (
	"fmt"
	"testing"

	"mla/runtime/plan"
)

// TestOddAttention runs attention over numbers of rows around one to three blocks and
// tiles, and over more than a page, on memory that ends with the last row.
func TestOddAttention(t *testing.T) {
	b := &plan.Bundle{Name: "odd", Activations: plan.ElemF32}
	for i, shape := range oddAttention {
		k := attendKernel(fmt.Sprintf("odd_%d", i), shape.heads, shape.lat, shape.pe, shape.simdgroups, plan.Splits{Count: 3, Tile: shape.tile})
		k.Variants = k.Variants[1:] // all but floats
		if got := matrixShapes(k.Parts[0].(*plan.Attend), k.Threads, budgetOf(""), simdWidth); len(got) != len(k.Variants) == shape.matrix {
			t.Errorf("%+v: matrix forms: %+v", shape, got)
		}
		b.Kernels = append(b.Kernels, k)
	}
	e := executor(t, print(t, b))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for j := range k.Variants {
			v := &k.Variants[j]
			for _, rows := range []int{1, 7, 8, 9, 15, 16, 17, 25, 31, 33, 48, 63, 80} {
				m := newMemory(k, v, b.Activations, rows-1)
				m.poisonBehind(rows)
				t.Run(fmt.Sprintf("%d-%d-%s/%d", oddAttention[i].heads, oddAttention[i].lat, v.Types[0], rows), func(t *testing.T) { m.execute(t, e, v.Func) })
			}
		}
	}
}
