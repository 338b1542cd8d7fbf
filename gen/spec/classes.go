package spec

import (
	"slices"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
	"mla/runtime/plan"
)

// tunings is the content of the key tuning: the values for any device, and the values that differ for a class
// of devices.
type tunings struct {
	general Tuning
	classes []classTuning // in the order of the file
}

// classTuning is an entry of the key tuning.devices. A zero means the value for any device.
type classTuning struct {
	class     string
	sequences []int // widths; nil: the widths for any device
	Tuning
}

// find returns the entry of a class, or nil if there is none.
func (t *tunings) find(class string) *classTuning {
	i := slices.IndexFunc(t.classes, func(c classTuning) bool { return c.class == class })
	if i < 0 {
		return nil
	}
	return &t.classes[i]
}

// at returns the values that the file gives for a class ("" for any device), so that the caller can change
// them. It adds an entry if there is none.
func (t *tunings) at(class string) *Tuning {
	if class == "" {
		return &t.general
	}
	if t.find(class) == nil {
		t.classes = append(t.classes, classTuning{class: class})
	}
	return &t.find(class).Tuning
}

// clone returns a copy whose list of classes can be changed. Tuning.SetShape copies the list of shapes
// itself.
func (t *tunings) clone() tunings {
	return tunings{t.general, slices.Clone(t.classes)}
}

// of returns the complete tuning for a class: its own entry, then the values for any device, then the
// defaults.
func (t *tunings) of(class string) Tuning {
	all := t.general
	devices := target.For(class)
	if simdgroups := &all.Attention.Simdgroups; *simdgroups*target.SimdWidth > devices.Budget("").Threads {
		*simdgroups = 0 // some devices of the class cannot launch that many
	}
	if devices.Parts() { // a tile means something else there, so the values for any device do not apply
		all.AttendHeads = AttendHeads{From: all.AttendHeads.From}
	}
	if c := t.find(class); c != nil {
		all = c.Tuning.over(all)
	}
	all = all.over(defaults(class))
	all.inherit()
	return all
}

// defaults returns the values that a tuning for a class has where no file says anything.
func defaults(class string) Tuning {
	t := target.For(class)
	return Tuning{Attention: t.Attention(), AttendHeads: t.AttendHeads()}
}

// over returns t with zeros replaced by the values of general.
func (t Tuning) over(general Tuning) Tuning {
	t.Attention = t.Attention.Over(general.Attention)
	t.AttendHeads = t.AttendHeads.Over(general.AttendHeads)
	kernels := slices.Clone(general.Kernels)
	for _, k := range t.Kernels {
		i := slices.IndexFunc(kernels, func(g KernelShape) bool { return g.Kernel == k.Kernel })
		if i < 0 {
			kernels = append(kernels, k)
			continue
		}
		k.Shape = k.Shape.Over(kernels[i].Shape)
		kernels[i] = k
	}
	t.Kernels = kernels
	return t
}

// classPath returns the path of the tuning of a class in the file; for class "" the path of the tuning for
// any device.
func classPath(class string) []string {
	if class == "" {
		return []string{"tuning"}
	}
	return []string{"tuning", "devices", class}
}

// tuningsFields are the keys of tuning: the keys of a Tuning, and devices.
func tuningsFields(t *tunings) []field {
	return append(tuningFields(&t.general), optional(field{key: "devices", decode: func(d *decoder, n *yaml.Node, path string) bool {
		return d.mapping(n, path, classFields(t))
	}}))
}

// classFields are the keys of tuning.devices.
func classFields(t *tunings) []field {
	var fields []field
	for _, class := range plan.Classes {
		fields = append(fields, optional(field{key: class, decode: func(d *decoder, n *yaml.Node, path string) bool {
			c := classTuning{class: class}
			ok := d.mapping(n, path, classTuningFields(&c))
			t.classes = append(t.classes, c)
			return ok
		}}))
	}
	return fields
}

// classTuningFields are the keys of an entry of tuning.devices: the keys of a Tuning, and sequences.
func classTuningFields(c *classTuning) []field {
	return append(tuningFields(&c.Tuning), optional(sequencesField(&c.sequences)))
}
