package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Variants returns what the file asks for, each to be compiled to a bundle of its
// own: s once for every entry of the key activations, in its order, then its layer that
// predicts so if it has one, and these again for every class of devices that it has a
// tuning for.
func (s *Spec) Variants() []*Spec {
	classes := []string{""}
	for _, c := range s.tunings.classes {
		classes = append(classes, c.class)
	}
	var out []*Spec
	for _, c := range classes {
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
// none and the file has no tuning for the class. plan.For says it of bundles.
func (s *Spec) Serves(class string) bool {
	return s.Class == class || s.Class == "" && s.tunings.find(class) == nil
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
