package quant

import (
	"math/rand/v2"
	"testing"
)

// backendNames lists the back ends of this machine.
func backendNames() []string {
	var names []string
	for _, b := range backends() {
		names = append(names, b.name)
	}
	return names
}

// useBackend runs the rest of a test with a back end.
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
func alone(f *Format, row []byte, x []float32) float32 {
	y := make([]float32, 1)
	f.Rows(row, len(row), x, y)
	return y[0]
}

// panelsFrom makes panels of the active back end for as few inputs, fewer than are worth one:
// tests of panels need not be large then.
func panelsFrom(t testing.TB, inputs int) {
	p := active.Load().panels
	if p == nil {
		return
	}
	before := p.least
	p.least = inputs
	t.Cleanup(func() { p.least = before })
}
