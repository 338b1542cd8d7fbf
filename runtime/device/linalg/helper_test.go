package linalg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mla/runtime/quant"
)

// backendNames lists the back ends of this machine.
func backendNames() []string {
	var names []string
	for _, b := range backends() {
		names = append(names, b.name)
	}
	return names
}

// useBackend runs the rest of a test with the named back end.
func useBackend(t testing.TB, name string) {
	t.Helper()
	before := Backend()
	if err := SetBackend(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := SetBackend(before); err != nil {
			t.Error(err)
		}
	})
}

// randomFloats returns n normally distributed numbers.
func randomFloats(r *rand.Rand, n int) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64())
	}
	return f
}

// alone returns the sum of one row.
func alone(f *quant.Format, row []byte, x []float32) float32 {
	y := make([]float32, 1)
	Rows(f, row, len(row), x, y)
	return y[0]
}

// panelsFrom lets the active back end use panels from the given number of inputs on, so that tests of panels stay small.
func panelsFrom(t testing.TB, inputs int) {
	p := active.Load().panels
	if p == nil {
		return
	}
	before := p.least
	p.least = inputs
	t.Cleanup(func() { p.least = before })
}

// formatOf returns a format of the table of formats.
func formatOf(t quant.Type) *quant.Format {
	f, _ := quant.Lookup(t)
	return f
}

// randomBlocks returns n blocks of random bits. Their numbers are small enough that products do not overflow.
func randomBlocks(r *rand.Rand, f *quant.Format, n int) []byte {
	b, w := make([]byte, n*f.BlockBytes), make([]float32, f.BlockElems)
	const largest = 1 << 12
	for i := 0; i < n; {
		block := b[i*f.BlockBytes : (i+1)*f.BlockBytes]
		for j := range block {
			block[j] = byte(r.Uint32())
		}
		f.Dequantize(w, block)
		if !slices.ContainsFunc(w, func(x float32) bool { return !(x > -largest && x < largest) }) {
			i++
		}
	}
	return b
}
