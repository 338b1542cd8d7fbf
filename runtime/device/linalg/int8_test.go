package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// inInt8 returns the inputs rounded to what their bytes stand for: multiples of max|x|/127 of every 32 elements, or of 256
// for K-quants. Elements after the last step of the loops stay as they are.
func inInt8(x []float32, step int) []float32 {
	y := append([]float32(nil), x...)
	block := 32
	if step == quant.SuperBlock {
		block = step
	}
	for at := 0; at < len(x)/step*step; at += block {
		most := float32(0)
		for _, v := range x[at : at+block] {
			most = max(most, float32(math.Abs(float64(v))))
		}
		if most == 0 {
			continue
		}
		for i, v := range x[at : at+block] {
			y[at+i] = most / 127 * float32(math.RoundToEven(float64(v*(127/most))))
		}
	}
	return y
}

// TestInt8 compares products of inputs that are rounded to bytes with those of the numbers
// that these stand for: whole blocks, a rest after the last step, zeros and extremes, and
// codes at both ends of their range.
func TestInt8(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for typ, k := range active.Load().int8 {
			f, _ := quant.Lookup(typ)
			r := rand.New(rand.NewPCG(31, uint64(typ)))
			for _, blocks := range []int{1, 2, 3, 2048 / f.BlockElems} {
				const rows = 9
				n := blocks * f.BlockElems
				if n < k.step {
					continue // floats
				}
				w := randomBlocks(r, f, rows*blocks)
				extremeCodes(w[:blocks*f.BlockBytes], f)
				x := randomFloats(r, n)
				clear(x[n-32:]) // a block of zeros
				for i := range x[:32] {
					x[i] = 1000 // all the largest
				}
				got := make([]float32, rows)
				rowInt8(f, w, len(w)/rows, x, got)
				rounded := inInt8(x, k.step)
				for i, y := range got {
					row := w[i*len(w)/rows:]
					want := float64(f.Dot(row[:len(w)/rows], rounded))
					// Sums of floats in another order: some 2^-24 of the sum of magnitudes each.
					limit := 1e-6 * magnitudes(f, row[:len(w)/rows], rounded)
					if !(math.Abs(float64(y)-want) <= limit) {
						t.Errorf("%s %s: %d blocks, row %d: %g; of rounded inputs %g, ± %g", name, f.Name, blocks, i, y, want, limit)
					}
				}
			}
		}
	}
}

// extremeCodes sets all bytes of blocks after their scales.
func extremeCodes(w []byte, f *quant.Format) {
	for ; len(w) > 0; w = w[f.BlockBytes:] {
		first, last := 2, f.BlockBytes
		switch f.Type {
		case quant.Q4_1, quant.Q5_1:
			first = 4
		case quant.Q4_K, quant.Q5_K:
			first = 16
		case quant.Q6_K:
			last = 192
		case quant.Q2_K, quant.Q3_K, quant.TQ1_0, quant.TQ2_0: // their scales lie after the codes
			first, last = 0, f.BlockBytes-2
			if f.Type == quant.Q2_K {
				last -= 2
			}
		case quant.IQ1_M: // parts of the factor lie in the scales
			first, last = 0, 48
		case quant.NVFP4:
			first = 4
		case quant.MXFP4:
			first = 1
		case quant.IQ4_XS, quant.NVFP4Scaled:
			first = 8
		}
		for i := first; i < last; i++ {
			w[i] = 0xff
			if f.Type == quant.Q8_0 {
				w[i] = 0x80 // -128, whose magnitude is no signed byte
			}
		}
	}
}

// magnitudes is the sum of |w·x| of a row.
func magnitudes(f *quant.Format, row []byte, x []float32) float64 {
	w, sum := make([]float32, len(x)), 0.0
	f.Dequantize(w, row)
	for i := range x {
		sum += math.Abs(float64(w[i]) * float64(x[i]))
	}
	return sum
}

// TestInt8NotFinite checks that an input which is not finite makes its product not finite.
func TestInt8NotFinite(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for typ := range active.Load().int8 {
			f, _ := quant.Lookup(typ)
			w := randomBlocks(rand.New(rand.NewPCG(32, uint64(typ))), f, 512/f.BlockElems)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				for _, at := range []int{0, 37, 511} {
					x, y := make([]float32, 512), make([]float32, 1)
					x[at] = float32(bad)
					if rowInt8(f, w, len(w), x, y); !math.IsNaN(float64(y[0])) && !math.IsInf(float64(y[0]), 0) {
						t.Errorf("%s %s: %g at %d gives %g", name, f.Name, bad, at, y[0])
					}
				}
			}
		}
	}
}
