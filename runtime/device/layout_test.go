package device

import (
	"testing"

	"mla/runtime/plan"
)

// TestSequencesStay checks that appending to the sequences of a configuration does not change the bundle.
func TestSequencesStay(t *testing.T) {
	m := &Model{Bundle: &plan.Bundle{Sequences: []plan.Sequence{{Width: 1}, {Width: 4}, {Width: 16}}}}
	for width, want := range map[int]int{0: 1, 1: 1, 2: 2, 4: 2, 5: 3, 99: 3} {
		list := m.Sequences(Config{Width: width})
		if len(list) != want {
			t.Errorf("%d sequences for %d rows; want %d", len(list), width, want)
		}
		_ = append(list, plan.Sequence{Width: 7})
	}
	for i, want := range []int{1, 4, 16} {
		if got := m.Bundle.Sequences[i].Width; got != want {
			t.Errorf("sequence %d is of %d rows now; want %d", i, got, want)
		}
	}
}
