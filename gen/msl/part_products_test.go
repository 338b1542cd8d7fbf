package msl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// TestPartProducts runs the products of devices whose tiles have parts of a step: of both types of activations,
// of batches and prompts, with each format at least once, alone and beside a second matrix of the same format or of
// another one.
func TestPartProducts(t *testing.T) {
	t.Parallel()
	models := []struct {
		spec, act string
		widths    []int
		all       []string // that run in all formats
	}{
		{"dsv2litemini", "f32", []int{1, 8}, nil}, {"dsv2litemini", "f16", []int{1, 72}, nil},
		{"youtumini", "f32", []int{1, 8, 40}, []string{"gate_up_x8"}}, {"youtumini", "f16", []int{1, 16}, []string{"gate_up_x16"}},
	}
	if !deep.On {
		models = models[:1]
	}
	for _, c := range models {
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
			newLauncher(t, few.Metal(), execute.Checked).compareWithReference(t, cases)
		})
	}
}

// TestBounds: where devices compile the text, each kernel says how many threads it has, and helpers are always inline;
// a printer of another language gets neither.
func TestBounds(t *testing.T) {
	s, err := spec.Load("../../specs/youtumini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]int{target.MetalClass: 1, "": 0} {
		b, err := gen.Compile(s.WithClass(class), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range b.Kernels {
			for _, v := range k.Variants {
				if n := strings.Count(b.Source, fmt.Sprintf("[[max_total_threads_per_threadgroup(%d)]]\nkernel void %s(", k.Threads, v.Func)); n != want {
					t.Errorf("%s: %s says %d times that it has %d threads; expected %d", b.Name, v.Func, n, k.Threads, want)
				}
			}
		}
		if n := strings.Count(b.Source, "#define inline inline __attribute__((always_inline))"); n != want {
			t.Errorf("%s: helpers are made inline %d times; expected %d", b.Name, n, want)
		}
	}
}

// multiplies reports whether a part is a product of several rows.
func multiplies(p plan.Part) bool {
	m := plan.ProductOf(p)
	return m != nil && m.Tokens >= 8
}

// inAllFormats are variants of a product of one or two matrices: with each format that their rows can
// have, and of two with the one before.
func inAllFormats(k *plan.Kernel) []plan.Variant {
	var list []plan.Variant
	last := quant.F32
	for _, f := range quant.Formats() {
		if plan.WeightsOf(k.Parts[0])[0].Cols%f.BlockElems != 0 {
			continue
		}
		types := slices.Repeat([]quant.Type{f.Type}, len(k.TypedSlots()))
		list = append(list, plan.Variant{Func: k.Name + "_" + f.Name, Types: types})
		if len(types) == 2 {
			list = append(list, plan.Variant{Func: k.Name + "_" + f.Name + "_mixed", Types: []quant.Type{f.Type, last}})
		}
		last = f.Type
	}
	return list
}
