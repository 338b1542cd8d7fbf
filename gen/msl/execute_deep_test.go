//go:build deep

package msl

import (
	"slices"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestExecuteHalf does so with activations in half, two formats per kernel.
func TestExecuteHalf(t *testing.T) {
	b := synthetic(plan.ElemF16)
	for i := range b.Kernels {
		k := &b.Kernels[i]
		if n := len(k.Variants); n > 2 {
			k.Variants = []plan.Variant{k.Variants[i%n], k.Variants[(i+7)%n]}
		}
	}
	executeAll(t, b)
}

// TestExecuteSplit does so with rows whose blocks' fields are apart; see
// quant.SplitRows. One mat-vec of each kind and the embedding read them.
func TestExecuteSplit(t *testing.T) {
	b := synthetic(plan.ElemF32)
	b.Kernels = slices.DeleteFunc(b.Kernels, func(k plan.Kernel) bool {
		return !slices.Contains([]string{"matvec_plain_store", "matvec_long_norm_swiglu", "split_experts_sum_true", "embed"}, k.Name)
	})
	for i := range b.Kernels {
		k := &b.Kernels[i]
		k.Variants = slices.DeleteFunc(k.Variants, func(v plan.Variant) bool {
			f, _ := quant.Lookup(v.Types[0])
			return !f.Splits(512)
		})
	}
	narrow := b.Kernels[0] // rows of 4-byte, but not of 8-byte words
	part := *narrow.Parts[0].(*plan.MatVec)
	part.Cols, narrow.Name, narrow.Parts = 320, "matvec_narrow", []plan.Part{&part}
	narrow.Variants = slices.DeleteFunc(everyType(narrow.Name, 1), func(v plan.Variant) bool {
		f, _ := quant.Lookup(v.Types[0])
		return !f.Splits(320)
	})
	b.Kernels = append(b.Kernels, narrow)
	executeSource(t, b, "#define SPLIT_ROWS true\n"+print(t, b), true)
}
