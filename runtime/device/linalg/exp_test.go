package linalg

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps is the error of got in units in the last place of float32; those of
// subnormal numbers are 2^-149.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// expArguments covers the arguments with finite results that are not 0.
func expArguments() []float32 {
	var x []float32
	for f := float32(-103.9); f < 88.72; f += 0.00137 {
		x = append(x, f)
	}
	return append(x, make([]float32, -len(x)&(VectorStep-1))...)
}

// TestExp allows half a unit for the final rounding and a hundredth for the
// polynomial's remainder.
func TestExp(t *testing.T) {
	worst := 0.0
	for _, x := range expArguments() {
		worst = max(worst, ulps(Exp(x), math.Exp(float64(x))))
	}
	if worst > 0.51 {
		t.Errorf("off by %.3f units in the last place", worst)
	}
}

// TestExps allows half a unit for each of the last step of the polynomial, the
// rounding of r before it, and the product with 2^k where that is subnormal.
func TestExps(t *testing.T) {
	x := expArguments()
	for _, name := range backendNames() {
		useBackend(t, name)
		y := append([]float32(nil), x...)
		Exps(y)
		worst := 0.0
		for i, got := range y {
			worst = max(worst, ulps(got, math.Exp(float64(x[i]))))
		}
		t.Logf("%s: off by %.3f units in the last place", name, worst)
		if worst > 1.5 {
			t.Errorf("%s: off by %.3f units in the last place", name, worst)
		}
	}
}

// TestExpLimits is exact, and so is the scalar function.
func TestExpLimits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want float32 }{{0, 1}, {-104, 0}, {-1e30, 0}, {-inf, 0}, {89, inf}, {1e30, inf}, {inf, inf}, {nan, nan}} {
		got := map[string]float32{"Exp": Exp(c.x)}
		for _, name := range backendNames() {
			useBackend(t, name)
			x := make([]float32, VectorStep)
			x[7] = c.x
			Exps(x)
			got[name] = x[7]
		}
		for name, g := range got {
			if g != c.want && !(g != g && c.want != c.want) {
				t.Errorf("%s: e^%g = %g, want %g", name, c.x, g, c.want)
			}
		}
	}
}

// TestExpsPlace checks that a result's bits do not depend on its place.
func TestExpsPlace(t *testing.T) {
	values := randomFloats(rand.New(rand.NewPCG(4, 4)), VectorStep)
	for _, name := range backendNames() {
		useBackend(t, name)
		want := append([]float32(nil), values...)
		Exps(want)
		for shift := range VectorStep {
			x := make([]float32, 3*VectorStep)
			copy(x[shift+1:], values)
			Exps(x)
			for i, w := range want {
				if got := x[shift+1+i]; got != w {
					t.Fatalf("%s: e^%g = %g at %d, %g at %d", name, values[i], got, shift+1+i, w, i)
				}
			}
		}
	}
}

func TestExpsLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Exps(make([]float32, VectorStep+1))
}
