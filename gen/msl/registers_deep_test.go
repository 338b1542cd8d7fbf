//go:build deep

package msl

import (
	"fmt"
	"testing"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestAttentionTiles runs attention with each tile that a budget can lead to, and GLM's as
// the older GPUs do, in both forms.
func TestAttentionTiles(t *testing.T) {
	shipped := target.Budgets
	t.Cleanup(func() { target.Budgets = shipped })
	b := &plan.Bundle{Name: "tiles", Activations: plan.ElemF32}
	for _, shape := range []attendShape{{24, 64, 32, 2}, {9, 256, 32, 8}, {2, 40, 8, 1}} {
		for tile := block; tile <= simdWidth; tile *= 2 {
			k := shape.kernel(fmt.Sprintf("attend_%d_%d", shape.heads, tile))
			values := ceil(shape.lat/block, shape.simdgroups)
			r := matrixRegisters(k.Parts[0].(*plan.Attend).Heads, k.Threads, tile, values+ceil(shape.pe/block, shape.simdgroups), values, quant.F16)
			k.Class = k.Name
			target.Budgets = append(target.Budgets, target.Budget{Class: k.Class, Registers: r.Held(), Scaled: r.Held(), Threads: maxThreads})
			if m := matrixShape(k.Parts[0].(*plan.Attend), k.Threads, target.For("").Budget(k.Class), quant.F16); m == nil || m.Tile != tile {
				t.Fatalf("%+v with %d registers: %+v", shape, r.Held(), m)
			}
			b.Kernels = append(b.Kernels, k)
		}
	}
	glm := attendShape{20, 512, 64, 11}.kernel("attend_glm")
	glm.Class = plan.ClassApple7
	b.Kernels = append(b.Kernels, glm)
	e := executor(t, print(t, b))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for j := range k.Variants {
			for _, rows := range []int{1, 8, 9, 17, 33, 63} {
				m := newMemory(k, &k.Variants[j], b.Activations, rows-1)
				t.Run(fmt.Sprintf("%s/%d", k.Variants[j].Func, rows), func(t *testing.T) { m.execute(t, e, k.Variants[j].Func) })
			}
		}
	}
}
