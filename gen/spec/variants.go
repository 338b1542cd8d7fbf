package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
)

// Variants returns the variants that the file asks for. Each is compiled to a bundle of its own. For every
// class of devices there is one for each type of activations, in the order of the file, followed by the same
// of the multi-token-prediction layer if the model has one.
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

// general returns what Parse returns: the first variant for any device, whether it becomes a bundle or not.
func (s *Spec) general() *Spec { return s.WithActivations(s.AllActivations()[0]).WithClass("") }

// classes lists the classes of devices that the file is compiled for: any device (""), and the classes that
// have a tuning. If the class that runs PTX has one, the only other devices are those that run Metal source,
// so their class replaces "".
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

// Portable returns Variants, and if none is for the class that runs Metal source, also its variants for that
// class. Bundle files have all of these, because they may be copied to any computer.
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

// AllActivations lists the types of activations that the file asks for, in its order.
func (s *Spec) AllActivations() []string {
	if len(s.activations) == 0 {
		return Activations[:1]
	}
	return s.activations
}

// WithActivations returns s with another type of activations, whether the file lists it or not.
func (s *Spec) WithActivations(name string) *Spec {
	return s.with(func(v *Spec) {
		v.Activations = name
		v.rename()
	})
}

// WithClass returns s for a class of devices, one of plan.Classes or "" for any device, with the tuning for
// it. The file need not have such a tuning.
func (s *Spec) WithClass(class string) *Spec {
	return s.with(func(v *Spec) {
		v.Class, v.Tuning = class, s.tunings.of(class)
		v.rename()
	})
}

// rename sets Name, which follows from the other fields.
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

// Serves reports whether devices of a class run this variant: it is for the class, or it is for any device
// and the file has no variant for the class. plan.For is the same for bundles.
func (s *Spec) Serves(class string) bool {
	return s.Class == class || s.Class == "" && !slices.Contains(s.classes(), class)
}

// activationsField is the key activations: a name, or a list of different names.
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
