package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Variants returns what the file asks for, in its order: s once for every entry of
// the key activations, each to be compiled to a bundle of its own.
func (s *Spec) Variants() []*Spec {
	list := s.activations
	if len(list) == 0 {
		list = Activations[:1]
	}
	var out []*Spec
	for _, a := range list {
		out = append(out, s.WithActivations(a))
	}
	return out
}

// WithActivations is s with activations of that name, whether its file asks for
// them or not.
func (s *Spec) WithActivations(name string) *Spec {
	v := *s
	v.Name, v.Activations = Name(s.File), name
	if name != Activations[0] {
		v.Name += name
	}
	return &v
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
