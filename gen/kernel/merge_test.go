package kernel

import (
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// kernelOf is a kernel with a variant for each of some types.
func kernelOf(name string, threads int, types ...quant.Type) plan.Kernel {
	k := plan.Kernel{Name: name, Threads: threads}
	for _, t := range types {
		k.Variants = append(k.Variants, plan.Variant{Func: plan.VariantName(name, []quant.Type{t}), Types: []quant.Type{t}})
	}
	return k
}

func namesOf(kernels []plan.Kernel) (names []string) {
	for _, k := range kernels {
		names = append(names, k.Name)
	}
	return names
}

// TestApart checks the names of kernels of two bundles. A kernel keeps its name if the other bundle's kernel
// of that name is the same, and otherwise gets a new name that neither bundle uses.
func TestApart(t *testing.T) {
	earlier := &plan.Bundle{Kernels: []plan.Kernel{kernelOf("same", 32, quant.Q4_0), kernelOf("other", 32), kernelOf("third", 32), kernelOf("third_2", 64),
		kernelOf("fourth", 32), {Name: "same_apple7", Threads: 64, Class: plan.ClassApple7, Instead: 0}}}
	b := &plan.Bundle{Kernels: []plan.Kernel{kernelOf("own", 32), kernelOf("same", 32), kernelOf("other", 64), kernelOf("other_2", 96), kernelOf("third", 64),
		kernelOf("fourth", 64), {Name: "same_apple7", Threads: 64, Class: plan.ClassApple7, Instead: 1}}}
	Apart(b, []*plan.Bundle{earlier})
	want := []string{"own", "same", "other_3", "other_2", "third_2", "fourth_2", "same_apple7"}
	if got := namesOf(b.Kernels); !slices.Equal(got, want) {
		t.Errorf("kernels are %s; expected %s", got, want)
	}
	if _, err := Merge([]*plan.Bundle{earlier, b}); err != nil {
		t.Error(err)
	}
}

// TestTogether: kernels of several bundles are there once, with the variants of all.
func TestTogether(t *testing.T) {
	a := &plan.Bundle{Name: "a", Kernels: []plan.Kernel{kernelOf("first", 32, quant.F32, quant.Q8_0), kernelOf("second", 32)}}
	b := &plan.Bundle{Name: "b", Kernels: []plan.Kernel{kernelOf("third", 64, quant.F32), kernelOf("first", 32, quant.Q4_0, quant.Q8_0)}}
	all, err := Merge([]*plan.Bundle{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := namesOf(all), []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("kernels are %s; expected %s", got, want)
	}
	got := (&plan.Bundle{Kernels: all}).Functions()
	if want := []string{"first_f32", "first_q4_0", "first_q8_0", "third_f32"}; !slices.Equal(got, want) {
		t.Errorf("functions are %s; expected %s", got, want)
	}
	if len(a.Kernels[0].Variants) != 2 || len(b.Kernels[1].Variants) != 2 {
		t.Errorf("the bundles have changed: %+v, %+v", a.Kernels, b.Kernels)
	}
	b.Kernels[1].Threads = 64
	if _, err := Merge([]*plan.Bundle{a, b}); err == nil || !strings.Contains(err.Error(), "bundle b: kernel first differs") {
		t.Errorf("kernels that differ: %v", err)
	}
}
