//go:build deep

package msl_test

import (
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
)

// TestCopies runs the products of a device that copies to threadgroup memory without registers, on
// rows that are split: weights come through buffers, those of dense products in all formats, alone and
// beside a second matrix of the same format or of another one. Copies arrive at once, and as late as
// they may.
func TestCopies(t *testing.T) {
	t.Parallel()
	// Hidden sizes of eight steps: all simdgroups of a batch share rows. Those of 48, of down, have six each,
	// more than they have tiles of inputs.
	for _, c := range []struct {
		spec, act, definitions string
		hidden, intermediate   int
		dense                  []string
	}{
		{"youtumini", "f32", splitRows, 1024, 64, []string{"lm_head_x16", "o_proj_x72", "gate_up_x16"}},
		{"youtumini", "f16", splitRows + lateCopies, 1024, 64, []string{"lm_head_x16", "o_proj_x72", "gate_up_x8", "gate_up_x72"}},
		{"youtumini", "f16", splitRows + lateCopies, 256, 6144, []string{"down_x8", "down_x16"}},
		{"dsv2litemini", "f16", splitRows + lateCopies, 1024, 64, []string{"router_shared_gate_shared_up_x8", "router_shared_gate_shared_up_x16"}},
	} {
		s, err := spec.Load("../../specs/" + c.spec + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.Activations, s.Class = c.act, plan.ClassNVIDIA
		s.Model.HiddenSize, s.Model.IntermediateSize = c.hidden, c.intermediate
		b, err := gen.Compile(s.WithSequences(1, 8, 16, 72), nil)
		if err != nil {
			t.Fatal(err)
		}
		few := plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model, Class: b.Class}
		for i := range b.Kernels {
			k := &b.Kernels[i]
			experts := slices.ContainsFunc(k.Parts, func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Tokens > 0 })
			dense := slices.Contains(c.dense, k.Name)
			if !experts && !dense {
				continue
			}
			if c.spec == "youtumini" {
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
		for _, name := range c.dense {
			if !slices.ContainsFunc(cases, func(k check.Case) bool { return k.Kernel.Name == name }) {
				t.Errorf("%s: no case of %s", c.spec, name)
			}
		}
		// The whole source is used, because the part that a device compiles lacks the macros that are empty
		// without asynchronous copies.
		newLauncher(t, c.definitions+few.Metal(), execute.Checked).compareWithReference(t, cases)
	}
}

// TestExpertShares runs products of experts whose selections several threadgroups share: as many as there are
// tiles, fewer and more.
func TestExpertShares(t *testing.T) {
	t.Parallel()
	s, err := spec.Load("../../specs/dsv2litemini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, shares := range []int{2, 5} {
		b, err := gen.Compile(s.WithSequences(1, 72), nil)
		if err != nil {
			t.Fatal(err)
		}
		few := plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model}
		for i := range b.Kernels {
			k := &b.Kernels[i]
			if e, ok := k.Parts[0].(*plan.Experts); ok && k.Width > 0 {
				e.Tokens, e.Shares = 16, shares
				few.Kernels = append(few.Kernels, *k)
			}
		}
		if few.Source, err = msl.Print(&few, "// test"); err != nil {
			t.Fatal(err)
		}
		cases, err := check.Cases(b)
		if err != nil {
			t.Fatal(err)
		}
		cases = thin(slices.DeleteFunc(cases, func(c check.Case) bool {
			_, ok := c.Kernel.Parts[0].(*plan.Experts)
			return !ok || c.Kernel.Width == 0
		}))
		if len(few.Kernels) != 2 || len(cases) < 3 {
			t.Errorf("%d kernels, %d cases", len(few.Kernels), len(cases))
		}
		newLauncher(t, few.Metal(), execute.Checked).compareWithReference(t, cases)
	}
}

// lateCopies has copies arrive when they are waited for, no sooner; see sim/exec/include/metal_stdlib.
const lateCopies = "#define COPIES_LAND land_copies(-1)\n#define COPIES_GROUP msl_end_group()\n#define COPIES_LAND_BUT(n) land_copies(int(n))\n"
