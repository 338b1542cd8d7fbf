package linalg

import (
	"math"
	"math/rand/v2"
	"testing"
)

// vectorLengths reach past several steps of the vector loops.
const vectorLengths = 200

func TestDotF32(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range vectorLengths {
			a, b := randomFloats(r, n+1)[1:], randomFloats(r, n)
			var want, magnitude float64
			for i := range a {
				want += float64(a[i]) * float64(b[i])
				magnitude += math.Abs(float64(a[i]) * float64(b[i]))
			}
			if e := math.Abs(float64(DotF32(a, b)) - want); !(e <= dotBound(n, magnitude)) {
				t.Errorf("%s: %d floats: error %g, allowed %g", name, n, e, dotBound(n, magnitude))
			}
		}
	}
}

// TestAxpy checks the error of y + a·x. Rounding the product before the sum adds at most half a unit in the
// last place to a single rounding.
func TestAxpy(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range vectorLengths {
			dst, x := randomFloats(r, n+1)[1:], randomFloats(r, n)
			before := append([]float32(nil), dst...)
			const a = 0.7
			Axpy(dst, a, x)
			for i, got := range dst {
				product := float64(float32(a)) * float64(x[i])
				want := float64(before[i]) + product
				if e := math.Abs(float64(got) - want); e > 0x1p-24*(math.Abs(want)+math.Abs(product)) {
					t.Fatalf("%s: element %d of %d = %v, want %v", name, i, n, got, want)
				}
			}
		}
	}
}

// TestFade checks that both products are rounded before the sum, on every back end.
func TestFade(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range vectorLengths {
			dst, keep, x := randomFloats(r, n+1)[1:], randomFloats(r, n), randomFloats(r, n)
			before := append([]float32(nil), dst...)
			const a = float32(0.7)
			Fade(dst, keep, a, x)
			for i, got := range dst {
				if want := float32(keep[i]*before[i]) + float32(a*x[i]); got != want {
					t.Fatalf("%s: element %d of %d = %v, want %v", name, i, n, got, want)
				}
			}
		}
	}
}

// TestScale checks exact results: there is one rounding, the same everywhere.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range vectorLengths {
			dst := randomFloats(r, n+1)[1:]
			before := append([]float32(nil), dst...)
			Scale(dst, 0.7)
			for i, got := range dst {
				if want := before[i] * 0.7; got != want {
					t.Fatalf("%s: element %d of %d = %v, want %v", name, i, n, got, want)
				}
			}
		}
	}
}
