package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/cpu"

	"mla/runtime/quant"
)

// TestKernelsComplete checks that every format has assembly: a loop for one input, and for several inputs tiles or a loop
// that decodes rows. A missing entry would fall back silently.
func TestKernelsComplete(t *testing.T) {
	for _, f := range quant.Formats() {
		k := neonBackend.kernels[f.Type]
		if k.one == nil || k.step%f.BlockElems != 0 {
			t.Errorf("no loop for %s", f.Name)
		}
		if decoded := k.floats != nil && k.decode != nil && k.step%k.floats.step == 0; decoded == (k.tiles[0].run != nil) {
			t.Errorf("%s has no loop for several inputs, or two", f.Name)
		}
	}
	for i, p := range neonBackend.products {
		last := i == len(neonBackend.products)-1
		if last != (p.rows == 1) || p.cols != ProductCols {
			t.Errorf("loop %d of products is for %d rows of %d columns", i, p.rows, p.cols)
		}
	}
}

// TestInt8Complete checks that every block format has loops for bytes, with SMMLA and without, if this machine has SDOT.
func TestInt8Complete(t *testing.T) {
	if got := len(neonBackend.int8) > 0; got != cpu.ARM64.HasASIMDDP {
		t.Fatalf("loops for bytes: %v, SDOT: %v", got, cpu.ARM64.HasASIMDDP)
	}
	for _, smmla := range []bool{true, false} {
		kernels := int8Of(true, smmla)
		for _, f := range quant.Formats() {
			k := kernels[f.Type]
			if want := f.BlockElems > 1; (k.one != nil) != want || want && (k.arranged == nil || (k.tiles[0].run != nil) != smmla) {
				t.Errorf("SMMLA %v: loops of bytes of %s are not complete", smmla, f.Name)
			}
		}
	}
	if int8Of(false, true) != nil {
		t.Error("loops for bytes without SDOT")
	}
}

// TestNotFinite checks that an input which is not finite has the result of its single product.
func TestNotFinite(t *testing.T) {
	useBackend(t, "neon")
	for _, f := range quant.Formats() {
		r := rand.New(rand.NewPCG(43, uint64(f.Type)))
		const n = 2 * quant.SuperBlock
		w, x, weights := randomBlocks(r, f, n/f.BlockElems), randomFloats(r, n), make([]float32, n)
		f.Dequantize(weights, w)
		for i := 0; i < n; i += 37 {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				before := x[i]
				x[i] = float32(bad)
				want := weights[i] * x[i]
				if got := alone(f, w, x); got != want && (got == got || want == want) {
					t.Errorf("%s: %g at %d gives %g, want %g", f.Name, bad, i, got, want)
				}
				x[i] = before
			}
		}
	}
}
