// Package vet finds probable mistakes in a spec that compiles: keys without effect, bundles that no file
// needs, kernels that a device runs badly.
package vet

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/ir"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/runtime/plan"
)

// Rule is one kind of mistake to look for.
type Rule struct {
	Name, Doc string
	find      func(all []variant) []string
}

// variant is a variant of a spec, with its program and bundle.
type variant struct {
	spec    *spec.Spec
	program *ir.Program // of one row
	bundle  *plan.Bundle
}

// Rules is the list of rules.
var Rules = []Rule{
	{"same_profiles", "two quant profiles give every tensor the same type: the second matches no other file", sameProfiles},
	{"same_shape", "tuning gives a kernel the shape that it has without the entry", sameShape},
	{"registers", "attention is estimated to hold more registers than a class of GPUs has room for", registers},
	{"long_context", "max_position_embeddings is larger than what YaRN stretches the original context to", longContext},
}

// Finding is what a rule has found.
type Finding struct{ Rule, Text string }

// Look applies all rules to all variants of a spec, and also to the variants for any device if the spec does
// not compile these to bundles.
func Look(s *spec.Spec) (list []Finding, err error) {
	var all []variant
	variants := s.Variants()
	if variants[0].Class != "" {
		for i, act := range s.AllActivations() {
			variants = slices.Insert(variants, i, s.WithActivations(act).WithClass(""))
		}
	}
	for _, v := range variants {
		p, err := gen.Program(v, 1, pass.Options{})
		if err != nil {
			return nil, err
		}
		b, err := gen.Compile(v, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, variant{v, p, b})
	}
	for _, r := range Rules {
		for _, text := range r.find(all) {
			list = append(list, Finding{r.Name, text})
		}
	}
	return list, nil
}

// general returns the variant for devices of any class with the activations of v.
func general(all []variant, v *variant) *variant {
	i := slices.IndexFunc(all, func(g variant) bool { return g.spec.Class == "" && g.spec.Activations == v.spec.Activations })
	return &all[i]
}

func sameProfiles(all []variant) (list []string) {
	profiles, quants := all[0].bundle.Profiles, all[0].spec.Quants
	for i := range profiles {
		for j := range i {
			if reflect.DeepEqual(profiles[i].Types, profiles[j].Types) && quants[i].LegacyKVB == quants[j].LegacyKVB {
				list = append(list, fmt.Sprintf("quant profile %q has the types of %q", profiles[i].Name, profiles[j].Name))
				break
			}
		}
	}
	return list
}

func sameShape(all []variant) (list []string) {
	for i := range all {
		v := &all[i]
		if v.spec.Activations != all[0].spec.Activations {
			continue // it has the same entries
		}
		for _, k := range v.spec.Tuning.Kernels {
			without := without(v.spec.Tuning, k)
			if g := general(all, v).spec.Tuning; v.spec.Class != "" {
				if _, ok := g.Shape(k.Kernel); ok {
					without = g
				}
			}
			if !inherited(&k, without) && alike(v, k.Kernel, without) {
				list = append(list, fmt.Sprintf("%s: kernel %s has this shape without the entry", k.At(), k.Kernel))
			}
		}
	}
	return list
}

// without returns a tuning without an entry.
func without(t spec.Tuning, k spec.KernelShape) spec.Tuning {
	t.Kernels = slices.DeleteFunc(slices.Clone(t.Kernels), func(o spec.KernelShape) bool { return o.Kernel == k.Kernel })
	return t
}

// inherited reports whether an entry in the tuning of a class comes from the tuning for any device.
func inherited(k *spec.KernelShape, of spec.Tuning) bool {
	return slices.ContainsFunc(of.Kernels, func(o spec.KernelShape) bool { return o.Kernel == k.Kernel && o.Line == k.Line && o.File == k.File })
}

// alike reports whether all kernels of a name have the same shape with another tuning.
func alike(v *variant, kernel string, other spec.Tuning) bool {
	name, width, _ := spec.AnyWidth(kernel)
	t := v.program.Target()
	named := func(tuning *spec.Tuning) bool { return tuning.OfWidth(name, width) != nil }
	if t.TakesInputs(width, named(&other)) != t.TakesInputs(width, named(&v.spec.Tuning)) {
		return false // the entry makes the kernel a mat-vec
	}
	for _, s := range v.program.Launches {
		rows, cols := v.program.Results(s)
		if s.Name() == name && t.MatVec(other.ShapeOf(name, width), rows, cols) != t.MatVec(v.spec.Tuning.ShapeOf(name, width), rows, cols) {
			return false
		}
	}
	return true
}

func registers(all []variant) (list []string) {
	for _, v := range all {
		for _, a := range describe.AttentionOf(v.bundle) {
			if a.Over {
				list = append(list, fmt.Sprintf("bundle %s: the %s form of %s on a cache of %s holds %d registers a thread in %d threads; the budget of %s is %d in %d",
					v.bundle.Name, a.Form, a.Kernel, a.Cache, a.Held, a.Threads, cmp.Or(a.Class, "any GPU"), a.Budget, a.MostThreads))
			}
		}
	}
	return list
}

func longContext(all []variant) []string {
	s := all[0].spec
	y := s.Rope.Scaling
	if y == nil {
		return nil
	}
	most := y.Factor * float64(y.OriginalMaxPositionEmbeddings)
	if float64(s.Model.MaxPositionEmbeddings) <= most {
		return nil
	}
	return []string{fmt.Sprintf("max_position_embeddings is %d; YaRN stretches %d positions by %g, to %.0f",
		s.Model.MaxPositionEmbeddings, y.OriginalMaxPositionEmbeddings, y.Factor, most)}
}
