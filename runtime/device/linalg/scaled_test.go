package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/runtime/quant"
)

// TestScaledBytes checks that bytes and scales are those of blocks of Q8_0, and so are the numbers that they
// stand for, to the bit, on every back end.
func TestScaledBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	for _, blocks := range []int{1, 2, 3, 18, 64} {
		x := randomFloats(r, 32*blocks)
		for j := range 32 { // one block of zeros, and one of numbers too small for a scale
			x[j] = 0
			if blocks > 1 {
				x[32+j] = float32(j) * 1e-9
			}
		}
		row := make([]byte, blocks*formatOf(quant.Q8_0).BlockBytes)
		formatOf(quant.Q8_0).Quantize(row, x)
		want, apart := make([]float32, len(x)), make([]byte, formatOf(quant.Q8_0).SplitRowBytes(len(x)))
		formatOf(quant.Q8_0).Dequantize(want, row)
		qs, scales := make([]byte, len(x)), make([]uint16, blocks)
		quant.FloatsToScaledBytes(qs, scales, x)
		if formatOf(quant.Q8_0).Splits(len(x)) {
			formatOf(quant.Q8_0).SplitRows(apart, row, len(x))
			if !slices.Equal(apart[:len(qs)], qs) {
				t.Errorf("%d blocks: other bytes than those of split rows", blocks)
			}
		}
		for _, name := range backendNames() {
			useBackend(t, name)
			got := make([]float32, len(x))
			ScaledBytesToFloats(got, qs, scales)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s: number %d of %d blocks is %v; want %v", name, i, blocks, got[i], want[i])
				}
			}
		}
	}
}
