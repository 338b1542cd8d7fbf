package cpu

import (
	"math"
	"testing"
)

func TestExp32(t *testing.T) {
	worst := 0.0
	for x := float32(-87.3); x < 88.7; x += 0.00137 {
		want := math.Exp(float64(x))
		ulp := float64(math.Nextafter32(float32(want), math.MaxFloat32)) - float64(float32(want))
		worst = max(worst, math.Abs(float64(exp32(x))-want)/ulp)
	}
	// Half a unit is the final rounding, the rest the polynomial's remainder.
	if worst > 0.51 {
		t.Errorf("off by %.3f units in the last place", worst)
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{0, 1}, {-88, 0}, {-inf, 0}, {lowest, 0}, {89, inf}, {inf, inf}} {
		if got := exp32(c.x); got != c.want {
			t.Errorf("exp32(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	if got := exp32(float32(math.NaN())); got == got {
		t.Errorf("exp32(NaN) = %g", got)
	}
}

func TestSaturation(t *testing.T) {
	if got := product(1<<40, 1<<40); got != math.MaxInt64 {
		t.Errorf("product = %d", got)
	}
	if got := product(3, 0, math.MaxInt64); got != 0 {
		t.Errorf("product = %d", got)
	}
	if got := sum(math.MaxInt64, 1, 1); got != math.MaxInt64 {
		t.Errorf("sum = %d", got)
	}
}
