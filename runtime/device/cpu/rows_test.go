package cpu

import (
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// TestPrepareRows multiplies two rows and then three for the same entry and token. A faulty plan does so: another part
// rewrites the groups of experts while this one runs. The products of the third row must be those of its own input.
func TestPrepareRows(t *testing.T) {
	const rows, cols = 8, 64
	rng := rand.New(rand.NewPCG(1, 1))
	f, _ := quant.Lookup(quant.F32)
	bytes := make([]byte, 4*rows*cols)
	data := view[float32](bytes)
	for i := range data {
		data[i] = rng.Float32()
	}
	p := projection{w: weight{data: bytes, format: f, rowBytes: 4 * cols, stride: 4 * rows * cols, batch: 1}}
	w := newWorker(needs{rows: 3})
	for _, n := range []int{2, 3, 1} {
		w.batch.begin()
		for range n {
			x := make([]float32, cols)
			for i := range x {
				x[i] = rng.Float32()
			}
			w.batch.add(input{x: x, factor: 1})
		}
		w.batch.prepare(key{token: 1}, &p)
		for j, y := range p.rowsMany(w, 0, 0, rows) {
			for r := range y {
				var want float64
				for i, x := range w.batch.xs[j] {
					want += float64(x) * float64(data[r*cols+i])
				}
				if d := float64(y[r]) - want; d > 1e-4 || d < -1e-4 { // 64 products of at most 1, summed as float32
					t.Errorf("%d rows: result %d of input %d is %g, want %g", n, r, j, y[r], want)
				}
			}
		}
	}
}
