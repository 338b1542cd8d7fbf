package device

import (
	"math"
	"testing"
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
