package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundToHalf compares with the conversion of floats on all neighbourhoods of halves.
func TestRoundToHalf(t *testing.T) {
	for h := range uint16(0x7bff) {
		a, b := float64(HalfToFloat(h)), float64(HalfToFloat(h+1))
		for _, v := range []float64{a, a + (b-a)/4, (a + b) / 2, a + (b-a)*0.75, b} {
			want := float64(HalfToFloat(FloatToHalf(float32(v)))) // exact in float: 13 bits
			if got := roundToHalf(v); got != want {
				t.Fatalf("%g: %g; expected %g", v, got, want)
			}
			if got := roundToHalf(-v); got != -want {
				t.Fatalf("%g: %g; expected %g", -v, got, -want)
			}
		}
	}
	// Just beyond the middle of two halves: a float in between would hide it.
	if v := 1 + 0x1p-11 + 0x1p-40; roundToHalf(v) != 1+0x1p-10 {
		t.Errorf("%g: %g", v, roundToHalf(v))
	}
}

// TestUnpack decodes blocks to integers, scales and minima: they are the elements.
func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range Formats() {
		if f.halves == nil {
			continue
		}
		var q [32]int16
		want, x := make([]float32, 32), make([]float32, 32)
		block := make([]byte, f.BlockBytes)
		for range 50 {
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			f.Quantize(block, x)
			f.Dequantize(want, block)
			d, m := f.halves.unpack(block, &q)
			for i := range want {
				if got := d*float32(q[i]) + m; math.Abs(float64(got-want[i])) > 1e-6*math.Abs(float64(m)) { // one may be fused
					t.Fatalf("%s: element %d is %g; Dequantize says %g", f.Name, i, got, want[i])
				}
				if most := int16(f.halves.magnitude); q[i] > most || q[i] < -most {
					t.Fatalf("%s: element %d is the integer %d; at most %d is expected", f.Name, i, q[i], most)
				}
			}
		}
	}
}

// TestRowsHalves: near the exact product, as near as four roundings to half per sum of
// four allow, and in range for the largest inputs.
func TestRowsHalves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, f := range Formats() {
		n := 512
		row, w, x := make([]byte, n/f.BlockElems*f.BlockBytes), make([]float32, n), make([]float32, n)
		for i := range w {
			w[i] = float32(rng.NormFloat64())
			x[i] = HalfToFloat(FloatToHalf(float32(rng.NormFloat64())))
		}
		f.Quantize(row, w)
		f.Dequantize(w, row)
		var exact, terms float64
		for i := range w {
			p := float64(w[i]) * float64(x[i])
			exact += p
			terms += p * p
		}
		var y, plain [1]float32
		f.RowsHalves(row, len(row), x, y[:])
		f.Rows(row, len(row), x, plain[:])
		// Each rounding is off by at most 2^-11 of a partial sum; four per sum of four
		// terms of any sign, so that errors add up like the terms themselves do.
		if off := math.Abs(float64(y[0]) - exact); off > 4*0x1p-11*math.Sqrt(terms) {
			t.Errorf("%s: %g; expected %g ± %g", f.Name, y[0], exact, 4*0x1p-11*math.Sqrt(terms))
		}
		if f.halves != nil && y == plain {
			t.Errorf("%s: no rounding to half has shown", f.Name)
		}
		for i := range x {
			x[i] = float32(math.Copysign(65504, float64(w[i])))
		}
		f.RowsHalves(row, len(row), x, y[:])
		f.Rows(row, len(row), x, plain[:])
		if off := math.Abs(float64(y[0] - plain[0])); !(off <= 1e-3*math.Abs(float64(plain[0]))) { // 2^-11 and less each
			t.Errorf("%s: with the largest inputs %g; expected %g", f.Name, y[0], plain[0])
		}
	}
}
