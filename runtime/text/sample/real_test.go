package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWide compares functions of float64 with those of package math, which are right to a bit or so.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		x := 700 * (2*r.Float64() - 1)
		if got, want := wideExp(x), math.Exp(x); math.Abs(got-want) > 4e-16*want {
			t.Fatalf("exp(%v) = %v; expected %v", x, got, want)
		}
		if got := wideLog(math.Exp(x)); math.Abs(got-x) > 4e-16*max(1, math.Abs(x)) {
			t.Fatalf("log(exp(%v)) = %v", x, got)
		}
		y := 1 + (r.Float64()-0.5)/1000
		if got, want := wideLog(y), math.Log(y); math.Abs(got-want) > 4e-16 {
			t.Fatalf("log(%v) = %v; expected %v", y, got, want)
		}
		y, x = r.Float64(), 5*r.Float64()
		if got, want := widePow(y, x), math.Pow(y, x); math.Abs(got-want) > 1e-13*want { // the logarithm's rounding, times its size
			t.Fatalf("%v^%v = %v; expected %v", y, x, got, want)
		}
	}
	if wideExp(-701) != 0 || !math.IsInf(wideExp(701), 1) || wideExp(0) != 1 || wideLog(1) != 0 || widePow(0, 0) != 1 || widePow(0, 2) != 0 {
		t.Error("special values")
	}
}
