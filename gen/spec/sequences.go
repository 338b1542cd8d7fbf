package spec

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
	"mla/runtime/plan"
)

// DefaultSequences are the widths that a spec has by default: 1 for decoding one token, and 16 for batches
// and pieces of prompts. A replay with fewer rows leaves the others unused.
var DefaultSequences = []int{1, 16}

// Widths lists the numbers of rows that the spec's sequences run at once, rising from 1: those that the
// tuning for its class of devices gives, or else those of the spec.
func (s *Spec) Widths() []int {
	if c := s.tunings.find(s.Class); c != nil && len(c.sequences) > 0 {
		return c.sequences
	}
	if len(s.sequences) == 0 {
		return DefaultSequences
	}
	return s.sequences
}

// WithSequences returns s with other widths, rising from 1, for every class of devices.
func (s *Spec) WithSequences(widths ...int) *Spec {
	return s.with(func(v *Spec) {
		v.sequences, v.tunings = widths, s.tunings.clone()
		for i := range v.tunings.classes {
			v.tunings.classes[i].sequences = nil
		}
	})
}

// BatchRows returns the maximum number of rows of a batch: the width of the widest sequence that the class of
// devices allows for batches, and at least plan.DefaultBatch.
func (s *Spec) BatchRows() int {
	most := target.For(s.Class).BatchRows(s.MoE != nil)
	rows := plan.DefaultBatch
	for _, width := range s.Widths() {
		if width <= most {
			rows = max(rows, width)
		}
	}
	return rows
}

// sequencesField is the key sequences: a list of widths, rising from 1.
func sequencesField(dst *[]int) field {
	return field{key: "sequences", decode: func(d *decoder, n *yaml.Node, path string) bool {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			d.errorf(n, "%s is no list of numbers of rows; expected one like [1, 4, 16]", path)
			return false
		}
		last := 0
		for i, e := range n.Content {
			width, err := strconv.Atoi(e.Value)
			switch {
			case err != nil || e.Kind != yaml.ScalarNode || e.Tag != "!!int" || width < 1 || width > plan.MaxWidth:
				d.errorf(e, "%s has %q; expected numbers from 1 to %d", path, e.Value, plan.MaxWidth)
				return false
			case i == 0 && width != 1:
				d.errorf(e, "%s begins with %d; expected 1, for one token", path, width)
				return false
			case width <= last:
				d.errorf(e, "%s has %d after %d; expected rising numbers", path, width, last)
				return false
			}
			*dst = append(*dst, width)
			last = width
		}
		return true
	}}
}
