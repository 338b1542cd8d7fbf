package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// roundTripBounds are the largest errors of Quantize, per unit of the largest
// magnitude in the block. Half-precision scales add a few 2^-11.
var roundTripBounds = map[Type]float64{
	F32:  0,
	F16:  0x1p-11, // half a unit in the last of 11 bits
	BF16: 0x1p-8,  // half a unit in the last of 8 bits
	Q4_0: 1.0 / 8, // a step: the end of the range opposite to the extreme is one step short
	Q4_1: 1.0/15 + 2e-3,
	Q5_0: 1.0 / 16,
	Q5_1: 1.0/31 + 2e-3,
	Q8_0: 0.5/127 + 1e-3,
	// Sub-blocks of K-quants: half a step of the widest possible span, 2, plus what
	// rounding its 6-bit scale and minimum adds, at most 1/126 of their maxima.
	Q4_K: 1.0/15 + 3.0/126 + 2e-3,
	Q5_K: 1.0/31 + 3.0/126 + 2e-3,
	// A step of 1/32, as in Q4_0, and 1/256 for the rounding of the 8-bit scale.
	Q6_K: 1.0/32 + 1.0/256 + 1e-3,
	// The top of the table is 113 where the extreme is 127; otherwise half the
	// widest gap, 24. The 6-bit scale of IQ4_XS adds 1/64.
	IQ4_NL: 14.0/127 + 1e-3,
	IQ4_XS: 14.0/127 + 1.0/64 + 1e-3,
	// The extreme may lie just under 8 times the scale where E2M1 ends at 6.
	MXFP4: 2.0 / 8,
}

func TestQuantizeRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, f := range Formats() {
		bound, n := roundTripBounds[f.Type], f.BlockElems
		for _, scale := range []float32{1, 0.1, 300} { // below 0.1 the half d of Q6_K is subnormal
			for trial := range 50 {
				src := randomFloats(r, n)
				for i := range src {
					src[i] *= scale
					if trial%5 == 4 {
						src[i] = float32(math.Abs(float64(src[i]))) + scale // far from 0
					}
				}
				row, got := make([]byte, f.BlockBytes), make([]float32, n)
				f.Quantize(row, src)
				f.Dequantize(got, row)
				largest := math.Abs(float64(extreme(src)))
				for i := range src {
					if e := math.Abs(float64(got[i] - src[i])); e > bound*largest {
						t.Fatalf("%s: %v becomes %v: error %.4f of the largest, allowed %.4f", f.Name, src[i], got[i], e/largest, bound)
					}
				}
			}
		}
	}
}

// TestQuantizeSpecial checks that blocks of zeros stay zero, and that infinities
// and NaNs, which no block format holds, do no harm beyond their block.
func TestQuantizeSpecial(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, f := range Formats() {
		src := make([]float32, 3*f.BlockElems)
		for i := range f.BlockElems {
			src[i], src[2*f.BlockElems+i] = nan, -inf
		}
		row, got := make([]byte, 3*f.BlockBytes), make([]float32, len(src))
		f.Quantize(row, src)
		f.Dequantize(got, row)
		for i, v := range got[f.BlockElems : 2*f.BlockElems] {
			if v != 0 {
				t.Errorf("%s: element %d of zeros = %v", f.Name, i, v)
				break
			}
		}
	}
}

// randomFloats returns n normally distributed numbers.
func randomFloats(r *rand.Rand, n int) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64())
	}
	return f
}
