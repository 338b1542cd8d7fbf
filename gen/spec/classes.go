package spec

import (
	"slices"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
	"mla/runtime/plan"
)

// tunings is what the key tuning says: for any device, and, class by class, what is
// to be otherwise on some.
type tunings struct {
	general Tuning
	classes []classTuning // in the order of the file
}

// classTuning is an entry of the key tuning.devices. Zeros leave values as they are
// on any device.
type classTuning struct {
	class     string
	sequences []int // widths; nil: those of any device
	Tuning
}

// find is the entry of a class; nil: there is none.
func (t *tunings) find(class string) *classTuning {
	i := slices.IndexFunc(t.classes, func(c classTuning) bool { return c.class == class })
	if i < 0 {
		return nil
	}
	return &t.classes[i]
}

// at is what the file says for a class ("": for any device), for changes.
func (t *tunings) at(class string) *Tuning {
	if class == "" {
		return &t.general
	}
	if t.find(class) == nil {
		t.classes = append(t.classes, classTuning{class: class})
	}
	return &t.find(class).Tuning
}

// clone is a copy whose entries can be changed. Tuning.SetShape copies shapes itself.
func (t *tunings) clone() tunings {
	return tunings{t.general, slices.Clone(t.classes)}
}

// of is the tuning of devices of a class, whether it has an entry or not.
func (t *tunings) of(class string) Tuning {
	all := t.general
	devices := target.For(class)
	if simdgroups := &all.Attention.Simdgroups; *simdgroups*target.SimdWidth > devices.Budget("").Threads {
		*simdgroups = 0 // more than devices of the class can always launch
	}
	if devices.Parts() { // tiles of heads are of something else there
		all.AttendHeads = AttendHeads{From: all.AttendHeads.From}
	}
	if c := t.find(class); c != nil {
		all = c.Tuning.over(all)
	}
	all = all.over(defaults(class))
	all.inherit()
	return all
}

// defaults is the tuning of devices of a class where a file says nothing.
func defaults(class string) Tuning {
	t := target.For(class)
	return Tuning{Attention: t.Attention(), AttendHeads: t.AttendHeads()}
}

// over is t, and general in what t leaves out.
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

// classPath is where the file has the tuning of a class; "": of any device.
func classPath(class string) []string {
	if class == "" {
		return []string{"tuning"}
	}
	return []string{"tuning", "devices", class}
}

// tuningsFields are the keys of tuning: those of a Tuning, and devices.
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

// classTuningFields are the keys of an entry of tuning.devices: those of a Tuning, and sequences.
func classTuningFields(c *classTuning) []field {
	return append(tuningFields(&c.Tuning), optional(sequencesField(&c.sequences)))
}
