package cpu

import (
	"math"
	"testing"
)

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
