//go:build deep

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen/target"
	"mla/runtime/plan"
)

// TestRegisters counts the registers of kernels of class apple: of the specs of the table all kernels, of the others those
// that a model's heads and experts shape.
func TestRegisters(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../specs/more/*.yaml")
	if err != nil || len(files) < 10 || len(more) < 10 {
		t.Fatalf("%d and %d specs, %v", len(files), len(more), err)
	}
	seen := map[int]bool{} // heads
	for _, file := range append(files, more...) {
		of, err := bundles(file)
		if err != nil {
			t.Fatal(err)
		}
		wanted := shapedByModel
		if slices.Contains(specs, strings.TrimSuffix(filepath.Base(file), ".yaml")) {
			wanted = anyKernel
		}
		for _, b := range of {
			list, err := counted(b, wanted)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) < 6 {
				t.Errorf("%s: %d kernels", b.Name, len(list))
			}
			check(t, b, list)
			checkThreads(t, b)
			seen[b.Model.NumAttentionHeads] = true
		}
	}
	for _, heads := range []int{16, 20, 32, 64, 128} {
		if !seen[heads] {
			t.Errorf("no model has %d heads", heads)
		}
	}
}

// shapedByModel reports whether a kernel has a part that heads or experts shape, beyond the sizes of matrices.
func shapedByModel(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Parts, func(p plan.Part) bool {
		switch p := p.(type) {
		case *plan.Attend, *plan.AttendHeads, *plan.ExpandHeads, *plan.DeltaHeads, *plan.DeltaVectors, *plan.DeltaColumns, *plan.GateHeads,
			*plan.RouteBatch, *plan.RouteVec, *plan.GroupExperts:
			return true
		case *plan.MatVec:
			return p.Combine != nil
		}
		return false
	})
}

// checkThreads checks that attention has no more threads than the budget of its class.
func checkThreads(t *testing.T, b *plan.Bundle) {
	t.Helper()
	for i := range b.Kernels {
		k := &b.Kernels[i]
		attends := slices.ContainsFunc(k.Parts, func(p plan.Part) bool { _, ok := p.(*plan.Attend); return ok })
		if budget := target.For(b.Class).Budget(k.Class); attends && k.Threads > budget.Threads {
			t.Errorf("%s: %s has %d threads; expected at most %d", b.Name, k.Name, k.Threads, budget.Threads)
		}
	}
}
