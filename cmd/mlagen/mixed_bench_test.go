package main

import (
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/quant"
)

// BenchmarkMixedTypes compiles what -gguf does of a file of GLM-4.7-Flash whose types change from layer to layer, as those
// of unsloth's UD mixes do. Without PTX it should take two seconds at most.
func BenchmarkMixedTypes(b *testing.B) {
	s, err := spec.Load("../../specs/glm47flash.yaml")
	if err != nil {
		b.Fatal(err)
	}
	cycle := []quant.Type{quant.Q3_K, quant.IQ3_XXS, quant.Q2_K, quant.Q4_K, quant.IQ2_XS, quant.Q5_K}
	q := spec.Quant{Name: "mixed", Stock: "q8_0"}
	for _, row := range weights.Table(s) {
		if row.F32 || row.Cols%quant.SuperBlock != 0 {
			continue
		}
		types := make([]quant.Type, row.Layers())
		for l := range types {
			types[l] = cycle[(l/5+len(q.Types))%len(cycle)]
		}
		q.Types = append(q.Types, spec.RoleTypes{Role: row.Role, Types: types})
	}
	s.Quants = []spec.Quant{q}
	for b.Loop() {
		if _, err := gen.Compile(s, nil); err != nil {
			b.Fatal(err)
		}
	}
}
