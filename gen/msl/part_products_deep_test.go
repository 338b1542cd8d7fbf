//go:build deep

package msl_test

import (
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
)

// TestPartProducts runs the products of devices whose tiles have parts of a step: of both types of activations,
// of batches and prompts, with each format at least once, alone and beside a second matrix of the same format or of
// another one.
func TestPartProducts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec, act string
		widths    []int
		all       []string // that run in all formats
	}{
		{"youtumini", "f32", []int{1, 72}, []string{"gate_up_x72"}}, {"youtumini", "f16", []int{1, 16}, []string{"gate_up_x16"}},
		{"dsv2litemini", "f32", []int{1, 8}, nil}, {"dsv2litemini", "f16", []int{1, 72}, nil},
	} {
		t.Run(c.spec+" "+c.act, func(t *testing.T) {
			t.Parallel()
			s, err := spec.Load("../../specs/" + c.spec + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			b, err := gen.Compile(s.WithActivations(c.act).WithClass(target.MetalClass).WithSequences(c.widths...), nil)
			if err != nil {
				t.Fatal(err)
			}
			few := plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model, Class: b.Class}
			for i := range b.Kernels {
				k := &b.Kernels[i]
				if !slices.ContainsFunc(k.Parts, multiplies) {
					continue
				}
				if slices.Contains(c.all, k.Name) {
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
				first := k.Variant == &k.Kernel.Variants[0] || slices.Contains(c.all, k.Kernel.Name)
				return !first || !slices.ContainsFunc(k.Kernel.Parts, multiplies)
			})
			if len(cases) < 5 {
				t.Errorf("%d cases", len(cases))
			}
			newLauncher(t, few.Metal(), execute.Checked).compareWithTwins(t, cases)
		})
	}
}

// multiplies says whether a part is a product of several rows.
func multiplies(p plan.Part) bool {
	m := plan.ProductOf(p)
	return m != nil && m.Tokens >= 8
}
