package msl_test

import (
	"fmt"
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/device/check"
	"mla/runtime/plan"
)

// TestExpertsOfBatch runs products of a batch's experts by fewer threadgroups than there are tiles, so that each takes
// several: of one expert and of the next one, steps that do not share out evenly, experts that are selected by more
// rows than a tile holds, matrices of one format and of two, activations of both types, on devices with copies that
// need no registers, which land as late as they may, and without.
func TestExpertsOfBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		act, class, definitions  string
		hidden, tokens, together int
	}{
		{"f16", plan.ClassNVIDIA, splitRows + lateCopies, 1024, 8, 1},
		{"f16", plan.ClassNVIDIA, splitRows + lateCopies, 768, 16, 5},
		{"f32", plan.ClassNVIDIA, splitRows + lateCopies, 768, 8, 3},
		{"f16", "", "", 768, 8, 3},
		{"f32", "", "", 1024, 16, 7},
	} {
		t.Run(fmt.Sprint(c.act, c.class, c.hidden, c.tokens, c.together), func(t *testing.T) {
			t.Parallel()
			s, err := spec.Load("../../specs/dsv2litemini.yaml")
			if err != nil {
				t.Fatal(err)
			}
			s.Activations, s.Class, s.Model.HiddenSize = c.act, c.class, c.hidden
			b, err := gen.Compile(s.WithSequences(1, 16), nil)
			if err != nil {
				t.Fatal(err)
			}
			few := plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model, Class: b.Class}
			for i := range b.Kernels {
				k := &b.Kernels[i]
				at := slices.IndexFunc(k.Parts, func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Persistent > 0 })
				if at < 0 {
					continue
				}
				e := k.Parts[at].(*plan.Experts)
				e.Tokens, e.Persistent = c.tokens, c.together
				if e.Up < 0 || len(k.Parts) == 1 {
					k.Variants = inAllFormats(k)
				}
				few.Kernels = append(few.Kernels, *k)
			}
			if few.Source, err = msl.Print(&few, "// test"); err != nil {
				t.Fatal(err)
			}
			cases, err := check.Cases(b)
			if err != nil {
				t.Fatal(err)
			}
			cases = slices.DeleteFunc(cases, func(k check.Case) bool {
				return !slices.ContainsFunc(few.Kernels, func(f plan.Kernel) bool { return f.Name == k.Kernel.Name })
			})
			if len(few.Kernels) != 2 || len(cases) < 8 {
				t.Errorf("%d kernels, %d cases", len(few.Kernels), len(cases))
			}
			newLauncher(t, c.definitions+few.Metal(), execute.Checked).compareWithTwins(t, cases)
		})
	}
}
