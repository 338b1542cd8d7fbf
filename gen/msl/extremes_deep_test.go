//go:build deep

package msl

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// extremes are inputs at the ends of the range of half: sums of four that must not overflow, and products
// that are subnormal and lose bits.
var extremes = map[string]func(i int) float32{
	"largest":              func(int) float32 { return 65504 },
	"largest of two signs": func(i int) float32 { return float32(math.Copysign(65504, float64(i*i%7)-2.5)) },
	"small":                func(i int) float32 { return float32(i%31-15) * 0x1p-14 },
	"subnormal":            func(i int) float32 { return float32(i%1999-999) * 0x1p-24 },
}

// TestExtremes: kernels round products of halves as linalg.RowsHalves does, whatever
// the inputs' size is, on rows as they are and on those whose fields are apart.
func TestExtremes(t *testing.T) {
	var s slots
	p := &plan.MatVec{W: s.weight("w"), Product: plan.Product{Rows: 6, Cols: 1024, RowsPerGroup: 8, In: s.in("in"), Up: -1}, Batch: 1, Add: -1}
	p.Out = plan.Vec{Slot: s.floats("out", true)}
	k := s.kernel("extremes", nil, p)
	b := &plan.Bundle{Name: "extremes", Activations: plan.ElemF16, Kernels: []plan.Kernel{k}}
	for _, split := range []bool{false, true} {
		e := executor(t, fmt.Sprintf("#define SPLIT_ROWS %t\n", split)+print(t, b))
		for name, input := range extremes {
			for i := range k.Variants {
				v := &k.Variants[i]
				m := newMemory(&k, v, b.Activations, 0)
				m.split = split
				for i := range p.Cols {
					binary.LittleEndian.PutUint16(m.data[p.In.Slot][2*i:], quant.FloatToHalf(input(i)))
				}
				t.Run(fmt.Sprintf("%s/split=%t/%s", v.Func, split, name), func(t *testing.T) { m.execute(t, e, v.Func) })
			}
		}
	}
}
