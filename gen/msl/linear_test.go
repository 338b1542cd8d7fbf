package msl_test

import (
	"fmt"
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/msl/execute"
	"mla/gen/spectest"
	"mla/gen/target"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/tools/tests/deep"
)

// TestLinear runs the kernels that hybrid models have beyond others, linear attention above all: from zeros and from what
// rows before have left, one row, some of two sessions, a batch, and a prompt, with both laws of decay, with 32 and 64
// columns, and gates that are of low rank or not. Each class has every second of the models.
func TestLinear(t *testing.T) {
	t.Parallel()
	seeds, acts, widths := uint64(2), []string{"f32"}, []int{1, 16, 40}
	if deep.On {
		seeds, acts, widths = 6, []string{"f32", "f16"}, []int{1, 3, 16, 40}
	}
	seen := map[string]bool{}
	for seed := range seeds {
		for i, act := range acts {
			class := []string{target.MetalClass, ""}[(seed+uint64(i))%2]
			compareHybrid(t, hybridBundle(t, seed, class, act, widths), seen)
		}
	}
	compareHybrid(t, hybridBundle(t, 1, plan.ClassApple, "f32", []int{1, 40}), seen) // row by row
	for _, what := range []string{"linear attention of 1 rows", "linear attention of 16 rows", "low rank", "gates", "*plan.DeltaVectors", "*plan.DeltaColumns", "*plan.DeltaChunks", "*plan.DeltaFold", "*plan.GatedNormVec"} {
		if !seen[what] {
			t.Errorf("no kernel has %s; there are %v", what, seen)
		}
	}
}

// compareHybrid compares the kernels that hybrid models have beyond others with their references.
func compareHybrid(t *testing.T, b *plan.Bundle, seen map[string]bool) {
	t.Helper()
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c check.Case) bool { return !ofHybrids(c.Kernel, seen) })
	launcherOf(t, b, cases, execute.Checked|execute.Small).compareWithReference(t, cases)
}

// hybridBundle is a random hybrid model for a class of devices, whose prompts attend to expanded heads.
func hybridBundle(t *testing.T, seed uint64, class, act string, widths []int) *plan.Bundle {
	t.Helper()
	s := spectest.Hybrid(seed)
	s.Class = class
	s.Activations, s.Tuning.AttendHeads.From = act, 17
	if s.MoE == nil && s.Hybrid.GateLowerBound < 0 { // limits are of experts
		s.Hybrid.Limits = nil
	}
	b, err := gen.Compile(s.WithSequences(widths...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ofHybrids reports whether only hybrid models have such a kernel, and records its features in seen.
func ofHybrids(k *plan.Kernel, seen map[string]bool) (is bool) {
	for _, p := range k.Parts {
		switch m := plan.ProductOf(p); p := p.(type) {
		case *plan.DeltaHeads:
			is, seen[fmt.Sprintf("linear attention of %d rows", max(k.Width, 1))] = true, true
			seen["low rank"] = seen["low rank"] || p.FB >= 0
		case *plan.DeltaVectors, *plan.DeltaColumns, *plan.DeltaChunks, *plan.DeltaFold, *plan.GatedNormVec:
			is, seen[fmt.Sprintf("%T", p)] = true, true
		case *plan.GateHeads:
			is, seen["gates"] = true, true
		case *plan.MatVec:
			is = is || p.HeadGate != nil || m.Limit > 0
			seen["head gates"] = seen["head gates"] || p.HeadGate != nil
			seen["limits"] = seen["limits"] || m.Limit > 0
		case *plan.Experts:
			is, seen["limits"] = is || m.Limit > 0, seen["limits"] || m.Limit > 0
		}
	}
	return is
}
