package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/runtime/quant"
)

// TestRoundToHalf checks the rounding around every half against the conversion of floats.
func TestRoundToHalf(t *testing.T) {
	for h := range uint16(0x7bff) {
		a, b := float64(quant.HalfToFloat(h)), float64(quant.HalfToFloat(h+1))
		for _, v := range []float64{a, a + (b-a)/4, (a + b) / 2, a + (b-a)*0.75, b} {
			want := float64(quant.HalfToFloat(quant.FloatToHalf(float32(v)))) // exact in float: 13 bits
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

// multipliedAsHalves are the formats that RowsHalves does not multiply as floats.
func multipliedAsHalves() []*quant.Format {
	return slices.DeleteFunc(quant.Formats(), func(f *quant.Format) bool { return f.Halves == nil })
}

// randomRow is a row of n elements, and what these are.
func randomRow(f *quant.Format, rng *rand.Rand, n int) (row []byte, w []float32) {
	row, w = make([]byte, n/f.BlockElems*f.BlockBytes), randomFloats(rng, n)
	f.Quantize(row, w)
	f.Dequantize(w, row)
	return row, w
}

// randomHalves are n inputs of some size.
func randomHalves(rng *rand.Rand, n int, size float32) []float32 {
	x := randomFloats(rng, n)
	for i := range x {
		x[i] = quant.HalfToFloat(quant.FloatToHalf(size * x[i]))
	}
	return x
}

// TestUnpack checks that the decoded integers, scales and minima of a row give its elements.
func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range multipliedAsHalves() {
		const n = 512
		q, scales := make([]int16, n), make([]quant.Affine, n/f.Halves.SubBlock)
		for range 10 {
			row, want := randomRow(f, rng, n)
			f.UnpackHalves(row, q, scales)
			for i := range want {
				s := scales[i/f.Halves.SubBlock]
				// Equal but for the roundings of float32 where a middle was moved from q to m.
				if got := s.D*float32(q[i]) + s.M; math.Abs(float64(got-want[i])) > 0x1p-22*math.Abs(float64(s.D))*float64(f.Halves.Magnitude) {
					t.Fatalf("%s: element %d is %g; Dequantize says %g", f.Name, i, got, want[i])
				}
				if most := int16(f.Halves.Magnitude); q[i] > most || q[i] < -most {
					t.Fatalf("%s: element %d is the integer %d; at most %d is expected", f.Name, i, q[i], most)
				}
			}
		}
	}
}

// TestRowsHalves checks that the result is close to the exact product, within four roundings to half per sum
// of four, and in range for the largest inputs.
func TestRowsHalves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, f := range quant.Formats() {
		const n = 512
		row, w := randomRow(f, rng, n)
		x := randomHalves(rng, n, 1)
		var y, plain [1]float32
		RowsHalves(f, row, len(row), x, y[:])
		Rows(f, row, len(row), x, plain[:])
		if rounds := f.Halves != nil; rounds != (y != plain) {
			t.Errorf("%s: rounding to half has shown is %t; expected %t", f.Name, !rounds, rounds)
		}
		if f.Halves == nil {
			continue
		}
		// Each rounding is off by at most 2^-11 of a partial sum; four per sum of four
		// terms of any sign, so that errors add up like the terms themselves do.
		exact, _, squares := exactProduct(f, row, w, x)
		if off := math.Abs(float64(y[0]) - exact); off > 4*0x1p-11*math.Sqrt(squares) {
			t.Errorf("%s: %g; expected %g ± %g", f.Name, y[0], exact, 4*0x1p-11*math.Sqrt(squares))
		}
		// Terms of one sign, in turn all products and all inputs: errors of one sign too.
		for _, sign := range []func(w float32) float64{func(w float32) float64 { return float64(w) }, func(float32) float64 { return 1 }} {
			for i := range x {
				x[i] = float32(math.Copysign(65504, sign(w[i])))
			}
			RowsHalves(f, row, len(row), x, y[:])
			exact, sizes, _ := exactProduct(f, row, w, x)
			if off := math.Abs(float64(y[0]) - exact); !(off <= 4*0x1p-11*sizes) {
				t.Errorf("%s: with the largest inputs %g; expected %g ± %g", f.Name, y[0], exact, 4*0x1p-11*sizes)
			}
		}
	}
}

// TestRowsHalvesSmall checks small inputs, whose sums are subnormal halves. Each rounding adds an error of up
// to 2^-25 of their unit to the tolerance of TestRowsHalves.
func TestRowsHalvesSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, f := range multipliedAsHalves() {
		const n = 512
		q, scales := make([]int16, n), make([]quant.Affine, n/f.Halves.SubBlock)
		for _, size := range []float32{1e-3, 1e-4, 1e-5, 1e-6} {
			row, w := randomRow(f, rng, n)
			x := randomHalves(rng, n, size)
			f.UnpackHalves(row, q, scales)
			var y [1]float32
			RowsHalves(f, row, len(row), x, y[:])
			exact, _, squares := exactProduct(f, row, w, x)
			var units float64 // the sum of their squares, over all roundings
			for _, s := range scales {
				d, m := float64(s.D)*float64(4*f.Halves.Magnitude), 4*float64(s.M)
				units += float64(f.Halves.SubBlock) * (d*d + m*m)
			}
			allowed := 4 * (0x1p-11*math.Sqrt(squares) + 0x1p-25*math.Sqrt(units))
			if off := math.Abs(float64(y[0]) - exact); off > allowed {
				t.Errorf("%s: with inputs of %g: %g; expected %g ± %g", f.Name, size, y[0], exact, allowed)
			}
		}
	}
}

// exactProduct returns the product of x with a row, whose elements are w, and the sums of the magnitudes and
// of the squares of all numbers that RowsHalves adds for it.
func exactProduct(f *quant.Format, row []byte, w, x []float32) (exact, sizes, squares float64) {
	q, scales := make([]int16, len(w)), make([]quant.Affine, len(w)/f.Halves.SubBlock)
	f.UnpackHalves(row, q, scales)
	for i := range w {
		v := float64(w[i]) * float64(x[i])
		m := float64(scales[i/f.Halves.SubBlock].M) * float64(x[i])
		exact += v
		sizes += math.Abs(v-m) + math.Abs(m)
		squares += (v-m)*(v-m) + m*m
	}
	return exact, sizes, squares
}

// TestRowsHalvesOrder checks that the sums have the same terms as the sums of halves in kernels. Of two
// inputs of one sum the smaller is lost; of inputs of two sums none is.
func TestRowsHalvesOrder(t *testing.T) {
	for name, first := range map[string][]int{
		"q4_0": {0, 1, 16, 17}, "q4_1": {0, 1, 16, 17}, "q5_0": {0, 1, 16, 17}, "q5_1": {0, 1, 16, 17}, "q8_0": {0, 1, 16, 17},
		"q4_k": {0, 1, 4, 5}, "q5_k": {0, 1, 4, 5}, "q3_k": {0, 1, 4, 5}, "q2_k": {0, 1, 4, 5},
		"iq3_xxs": {0, 1, 4, 5}, "iq2_s": {0, 1, 4, 5}, "tq2_0": {0, 1, 4, 5}, "nvfp4": {0, 1, 8, 9},
	} {
		f, _ := quant.ByName(name)
		w := slices.Repeat([]float32{1}, f.BlockElems)
		row := make([]byte, f.BlockBytes)
		f.Quantize(row, w)
		for i := 1; i < 32; i++ {
			x := make([]float32, f.BlockElems)
			x[0], x[i] = 0x1p13, 1
			var both, alone [1]float32
			RowsHalves(f, row, len(row), x, both[:])
			x[i] = 0
			RowsHalves(f, row, len(row), x, alone[:])
			if lost := both == alone; lost != slices.Contains(first, i) {
				t.Errorf("%s: input %d beside input 0: lost is %t", name, i, lost)
			}
		}
	}
}
