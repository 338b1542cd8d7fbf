package device

import (
	"math"
	"slices"
	"testing"

	"mla/runtime/plan"
)

func TestRopeTable(t *testing.T) {
	table := make([]float32, 3*2*2)
	RopeTable(table, []float64{0.5, 0.25}, 2)
	for pos := range 3 {
		for i, f := range []float64{0.5, 0.25} {
			at := table[4*pos+2*i:]
			if cos, sin := float32(2*math.Cos(float64(pos)*f)), float32(2*math.Sin(float64(pos)*f)); at[0] != cos || at[1] != sin {
				t.Errorf("position %d, pair %d: (%g, %g); expected (%g, %g)", pos, i, at[0], at[1], cos, sin)
			}
		}
	}
}

// TestRopeTableWithout checks that a model without rotary positions has no frequencies and leaves the table
// unchanged.
func TestRopeTableWithout(t *testing.T) {
	for _, table := range [][]float32{nil, {3, 4}} {
		before := slices.Clone(table)
		if RopeTable(table, nil, 1); !slices.Equal(table, before) {
			t.Errorf("%v became %v", before, table)
		}
	}
}

// TestRopeFreqs checks that the short factors hold up to the original context, and the long ones beyond it.
func TestRopeFreqs(t *testing.T) {
	m := &Model{Bundle: &plan.Bundle{RopeFreqs: []float64{1, 0.5}}, RopeFactors: RopeFactors{Short: []float64{2, 4}, Long: []float64{8, 5}, Original: 16}}
	for context, want := range map[int][]float64{1: {0.5, 0.125}, 16: {0.5, 0.125}, 17: {0.125, 0.1}} {
		if got := m.ropeFreqs(context); !slices.Equal(got, want) {
			t.Errorf("%d positions: %g; want %g", context, got, want)
		}
	}
	m.RopeFactors = RopeFactors{}
	if got := m.ropeFreqs(100); !slices.Equal(got, m.Bundle.RopeFreqs) {
		t.Errorf("without factors: %g", got)
	}
	for _, f := range []RopeFactors{{Short: []float64{1}}, {Long: []float64{1, 1, 1}}} {
		if !f.wrong(2) {
			t.Errorf("%+v fits two pairs", f)
		}
	}
	if (&RopeFactors{Short: []float64{1, 1}}).wrong(2) {
		t.Error("one list is refused")
	}
}
