package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/plan/formula"
)

// deltaVectorsOf returns random vectors of n numbers, of about length 1.
func deltaVectorsOf(rng *rand.Rand, n, count int) (list [][]float32) {
	for range count {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64()) / float32(math.Sqrt(float64(n)))
		}
		list = append(list, v)
	}
	return list
}

// TestDeltaRule checks the loop that reads each column once against the formula in float64, over many rows.
func TestDeltaRule(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{32, 64, 128} {
		s, want := make([]float32, n*n), make([]float64, n*n)
		o, a, b := make([]float32, n), make([]float32, n), make([]float32, n)
		for row := range 200 {
			v := deltaVectorsOf(rng, n, 3)
			keep := make([]float32, n)
			for i := range keep {
				keep[i] = float32(math.Exp(-5 * rng.Float64()))
			}
			beta := rng.Float32()
			deltaRule(s, v[0], v[1], v[2], keep, beta, a, b, o)
			size, off := 0.0, 0.0
			for j, out := range formula.Delta(want, v[0], v[1], v[2], keep, float64(beta), 1) {
				size, off = size+out*out, off+(out-float64(o[j]))*(out-float64(o[j]))
			}
			if !(math.Sqrt(off) <= 1e-5*math.Sqrt(size)) { // sums in float32: 2.5e-6 and more
				t.Fatalf("row %d of %d columns: off by %.2g of %.2g", row, n, math.Sqrt(off), math.Sqrt(size))
			}
		}
	}
}

func BenchmarkDeltaRule(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 7))
	n := 128
	s, v := make([]float32, n*n), deltaVectorsOf(rng, n, 7)
	b.SetBytes(int64(8 * n * n))
	for b.Loop() {
		deltaRule(s, v[0], v[1], v[2], v[3], 0.5, v[4], v[5], v[6])
	}
}
