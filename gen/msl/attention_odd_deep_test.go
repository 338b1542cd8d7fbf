//go:build deep

package msl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"mla/gen/target"
	"mla/runtime/plan"
)

// oddAttention are shapes at the edges of blocks: heads of one to three of them, some
// of them full, columns that are laid out evenly and unevenly, to lanes by 8 and by 16
// where a cache of Q8_0 is possible, and four shapes that take the plain form, the last one by tiles that do not divide a page.
var oddAttention = []struct {
	heads, lat, pe, simdgroups, tile int
	matrix                           bool
}{
	{1, 16, 8, 1, 8, true},
	{2, 24, 16, 2, 16, true},
	{7, 128, 16, 8, 32, true},
	{8, 40, 8, 3, 16, true},
	{9, 256, 32, 8, 16, true},
	{16, 72, 8, 4, 64, true},
	{23, 128, 64, 8, 32, true},
	{24, 64, 32, 2, 8, true},
	{5, 96, 32, 5, 16, true},
	{4, 64, 32, 1, 32, true},
	{9, 160, 64, 4, 32, true},
	{7, 64, 16, 8, 32, false},
	{3, 60, 16, 4, 16, false},
	{4, 64, 10, 4, 16, false},
	{3, 60, 16, 4, 24, false},
}

// TestOddAttention runs attention over numbers of rows around one to three blocks and
// tiles, and over more than a page, on memory that ends with the last row.
func TestOddAttention(t *testing.T) {
	b := &plan.Bundle{Name: "odd", Activations: plan.ElemF32}
	for i, shape := range oddAttention {
		k := attendKernel(fmt.Sprintf("odd_%d", i), shape.heads, shape.lat, shape.pe, shape.simdgroups, plan.Splits{Count: 3, Tile: shape.tile})
		k.Variants = k.Variants[1:] // all but floats
		if got := matrixShapes(k.Parts[0].(*plan.Attend), k.Threads, target.For("").Budget("")); len(got) != len(k.Variants) == shape.matrix {
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
				m.poisonAfter(rows)
				t.Run(fmt.Sprintf("%d-%d-%s/%d", oddAttention[i].heads, oddAttention[i].lat, v.Types[0], rows), func(t *testing.T) { m.execute(t, e, v.Func) })
			}
		}
	}
}

// poisonAfter makes the cache rows from number rows on NaN: they hold no token yet.
func (m *memory) poisonAfter(rows int) {
	a := m.k.Parts[0].(*plan.Attend)
	width := a.LatDim + a.PeDim
	for pos := rows; pos < testPages*plan.PageRows; pos++ {
		m.setCached(cached(a.Cache, pos, width), slices.Repeat([]float64{math.NaN()}, width))
	}
}
