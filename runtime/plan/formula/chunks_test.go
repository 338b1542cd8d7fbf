package formula

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDeltaChunks: wherever chunks end, the rows of a text have what the delta rule gives row by row, with decays of all
// sizes, down to those that leave nothing of a key's row.
func TestDeltaChunks(t *testing.T) {
	const n, count, scale = 6, 70, 0.4
	rng := rand.New(rand.NewPCG(3, 1))
	rows := make([]DeltaRow[float64], count)
	for i := range rows {
		of := func() []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = rng.NormFloat64()
			}
			return v
		}
		keep := make([]float64, n)
		for j := range keep {
			keep[j] = math.Exp(-math.Exp(4 * rng.NormFloat64()))
		}
		rows[i] = DeltaRow[float64]{Q: L2Norm(of(), 1e-6), K: L2Norm(of(), 1e-6), V: of(), Keep: keep, Beta: rng.Float64()}
	}
	var want [][]float64
	state := make([]float64, n*n)
	for _, r := range rows {
		want = append(want, Delta(state, r.Q, r.K, r.V, r.Keep, r.Beta, scale))
	}
	for _, most := range []int{1, 2, 7, 16, count} {
		cut := make([]float64, n*n)
		for at := 0; at < count; {
			end := min(at+1+rng.IntN(most), count)
			for i, o := range DeltaFold(cut, DeltaChunk(rows[at:end], scale)) {
				for j, x := range o {
					if !(math.Abs(x-want[at+i][j]) <= 1e-13) { // sums of 16 products of float64 in another order
						t.Fatalf("chunks of up to %d: row %d has %g in column %d; want %g", most, at+i, x, j, want[at+i][j])
					}
				}
			}
			at = end
		}
		for i, x := range cut {
			if !(math.Abs(x-state[i]) <= 1e-13) {
				t.Errorf("chunks of up to %d: the state has %g; want %g", most, x, state[i])
			}
		}
	}
}
