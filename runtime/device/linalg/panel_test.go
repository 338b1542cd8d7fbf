package linalg

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// TestPanelShapes multiplies random numbers of rows, inputs and blocks, more of each than
// fit a tile or a stretch, and compares every bit with what an input gives alone.
func TestPanelShapes(t *testing.T) {
	for _, name := range backendNames()[:len(backendNames())-1] { // the last one is Go's
		useBackend(t, name)
		panelsFrom(t, 8)
		for _, loop := range loopsOf {
			if loop.name == "RowsHalves" {
				continue // Go's
			}
			for _, f := range quant.Formats() {
				r := rand.New(rand.NewPCG(33, uint64(f.Type)))
				for range 4 {
					rows, inputs := 1+r.IntN(2*blockRows+5), 1+r.IntN(40)
					blocks := 1 + r.IntN(3*panelStretch/f.BlockElems)
					stride := blocks*f.BlockBytes + r.IntN(4)
					w := bytes.Repeat([]byte{0xff}, rows*stride)
					for i := range rows {
						copy(w[i*stride:], randomBlocks(r, f, blocks))
					}
					xs, ys := vectors(r, inputs, blocks*f.BlockElems), vectors(r, inputs, rows)
					loop.many(f, w, stride, xs, ys)
					want := make([]float32, rows)
					for j, x := range xs {
						loop.alone(f, w, stride, x, want)
						for i := range want {
							if ys[j][i] != want[i] {
								t.Fatalf("%s %s %s: %d rows of %d blocks, %d inputs: row %d of input %d is %v; alone it is %v",
									name, loop.name, f.Name, rows, blocks, inputs, i, j, ys[j][i], want[i])
							}
						}
					}
				}
			}
		}
	}
}

// TestPanelBlockRows checks that a panel has whole tiles, and fits a cache of two MiB.
func TestPanelBlockRows(t *testing.T) {
	for elems, want := range map[int]int{32: 64, 2048: 64, 4096: 64, 4128: 32, 8192: 32, 1 << 20: 32} {
		if got := panelBlockRows(elems); got != want {
			t.Errorf("%d elements: %d rows, want %d", elems, got, want)
		}
	}
}
