package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
)

// Variants returns what the file asks for, each to be compiled to a bundle of its
// own: s once for every entry of the key activations, in its order, then its layer that
// predicts so if it has one, and these again for every class of devices that it
// is compiled for.
func (s *Spec) Variants() []*Spec {
	var out []*Spec
	for _, c := range s.classes() {
		for _, a := range s.AllActivations() {
			out = append(out, s.WithActivations(a).WithClass(c))
		}
		for _, a := range s.AllActivations() {
			if s.Model.NumNextNPredictLayers > 0 {
				out = append(out, s.WithActivations(a).WithClass(c).NextNLayer())
			}
		}
	}
	return out
}

// general is the first variant for any device, whether it becomes a bundle or not: what Parse returns.
func (s *Spec) general() *Spec { return s.WithActivations(s.AllActivations()[0]).WithClass("") }

// classes are those that the file is compiled for: any device, and those with a tuning. Where the class that runs
// PTX has one, no other device but that of the class that runs Metal source is left to compile for.
func (s *Spec) classes() []string {
	classes := []string{""}
	if s.tunings.find(target.PTXClass) != nil {
		classes[0] = target.MetalClass
	}
	for _, c := range s.tunings.classes {
		if !slices.Contains(classes, c.class) {
			classes = append(classes, c.class)
		}
	}
	return classes
}

// Portable is Variants and, where there are none, those of the class that runs Metal source: what a file has that any
// computer may get.
func (s *Spec) Portable() []*Spec {
	list := s.Variants()
	if slices.Contains(s.classes(), target.MetalClass) {
		return list
	}
	for _, v := range list {
		if v.Class == "" {
			list = append(list, v.WithClass(target.MetalClass))
		}
	}
	return list
}

// AllActivations lists those that the file asks for, in its order.
func (s *Spec) AllActivations() []string {
	if len(s.activations) == 0 {
		return Activations[:1]
	}
	return s.activations
}

// WithActivations is s with activations of that name, whether its file asks for
// them or not.
func (s *Spec) WithActivations(name string) *Spec {
	return s.with(func(v *Spec) {
		v.Activations = name
		v.rename()
	})
}

// WithClass is s with the tuning for a class of devices, one of plan.Classes,
// whether its file has one or not; "": for any device.
func (s *Spec) WithClass(class string) *Spec {
	return s.with(func(v *Spec) {
		v.Class, v.Tuning = class, s.tunings.of(class)
		v.rename()
	})
}

// rename gives a variant its name.
func (s *Spec) rename() {
	s.Name = Name(s.File)
	if s.NextN > 0 {
		s.Name += nextNSuffix
	}
	if s.Activations != Activations[0] {
		s.Name += s.Activations
	}
	s.Name += s.Class
}

// Serves says whether devices of a class run this variant: it is of the class, or of
// none and there is none for the class. plan.For says it of bundles.
func (s *Spec) Serves(class string) bool {
	return s.Class == class || s.Class == "" && !slices.Contains(s.classes(), class)
}

// activationsField is the key activations: a name, or a list of different ones.
func activationsField(dst *[]string) field {
	return field{key: "activations", decode: func(d *decoder, n *yaml.Node, path string) bool {
		list := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			list = n.Content
		}
		if len(list) == 0 {
			d.errorf(n, "%s is an empty list; expected %s", path, strings.Join(Activations, " or "))
		}
		before := len(d.errs)
		for _, e := range list {
			if !d.isOneOf(e, path, Activations) {
				continue
			}
			if slices.Contains(*dst, e.Value) {
				d.errorf(e, "%s has %s twice", path, e.Value)
				continue
			}
			*dst = append(*dst, e.Value)
		}
		return len(d.errs) == before
	}}
}
