//go:build deep

package msl_test

import (
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/doctor/check"
)

// TestRoutedRowByRow: of more than 256 experts class apple picks those of one row after the other.
func TestRoutedRowByRow(t *testing.T) {
	for _, name := range []string{"kimik2", "ling3flash"} {
		s, err := spec.Load("../../specs/more/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		b, err := gen.Compile(s.WithClass(target.MetalClass).WithSequences(1, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := check.Cases(b)
		if err != nil {
			t.Fatal(err)
		}
		cases = slices.DeleteFunc(cases, func(c check.Case) bool {
			return !strings.HasPrefix(c.Variant.Func, "group_experts_shared_down_x16_q4_0")
		})
		if len(cases) == 0 {
			t.Fatalf("%s: no cases", name)
		}
		launcherOf(t, b, cases[:1], execute.Fast).compareWithReference(t, cases[:1])
	}
}
