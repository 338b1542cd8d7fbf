package sample

import (
	"math"
	"math/bits"
	"testing"
)

// TestExp compares with the library over the whole range. The bound is 2 units in
// the last place of float32: half from the reduction, the rest from Horner's sums.
func TestExp(t *testing.T) {
	worst := 0.0
	for x := float32(0); x > -80; x -= 0.00037 {
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(exp(x))-want)/want)
	}
	if worst > 2.4e-7 {
		t.Errorf("relative error %.3g", worst)
	}
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {-80.5, 0}, {float32(math.Inf(-1)), 0}, {-math.MaxFloat32, 0}, {-math.SmallestNonzeroFloat32, 1},
	} {
		if got := exp(c.x); got != c.want {
			t.Errorf("exp(%v) = %v, expected %v", c.x, got, c.want)
		}
	}
	if got := weight(0); got != weightOne {
		t.Errorf("weight(0) = %d", got)
	}
}

// TestExpIsMonotone, so that a better logit never weighs less by much: rounding
// may swap neighbours by one unit.
func TestExpIsMonotone(t *testing.T) {
	last := exp(0)
	for x := float32(-1e-6); x > -25; x -= 1e-4 {
		y := exp(x)
		if y > last*(1+1e-6) {
			t.Fatalf("exp(%v) = %v after %v", x, y, last)
		}
		last = y
	}
}

// TestRandom checks a published value of SplitMix64 (its first output for state
// 0), and that bits are balanced over seeds and draws.
func TestRandom(t *testing.T) {
	if got := mix(0x9E3779B97F4A7C15); got != 0xE220A8397B1DCDAF {
		t.Errorf("first output for state 0 is %#x", got)
	}
	ones := make([]int, 64)
	const n = 100
	for seed := range uint64(n) {
		for draw := range uint64(n) {
			u := random(seed, draw)
			for b := range ones {
				ones[b] += int(u >> b & 1)
			}
			// Neighbours differ in about half of their bits.
			for _, v := range []uint64{random(seed+1, draw), random(seed, draw+1)} {
				if d := bits.OnesCount64(u ^ v); d < 8 || d > 56 {
					t.Errorf("seed %d draw %d: a neighbour differs in %d bits", seed, draw, d)
				}
			}
		}
	}
	for b, k := range ones { // 5000 ± 50 (one standard deviation)
		if k < 4700 || k > 5300 {
			t.Errorf("bit %d is set %d times of %d", b, k, n*n)
		}
	}
}
