package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// TestDecode checks that assembly decodes rows to the same bits as Dequantize, for any number of blocks from
// any start, and writes nothing after them.
func TestDecode(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for typ, k := range active.Load().kernels {
			if k.decode == nil {
				continue
			}
			f := formatOf(typ)
			r := rand.New(rand.NewPCG(41, uint64(typ)))
			for steps := 1; steps <= 5; steps++ {
				n := steps * k.step
				w := append(make([]byte, steps%4), randomBlocks(r, f, n/f.BlockElems)...)[steps%4:]
				got, want := make([]float32, n+1), make([]float32, n)
				got[n] = 7
				k.decode(&w[0], steps, &got[0])
				f.Dequantize(want, w)
				for i, v := range want {
					if math.Float32bits(got[i]) != math.Float32bits(v) {
						t.Fatalf("%s %s: element %d of %d is %g (%#x), want %g (%#x)",
							name, f.Name, i, n, got[i], math.Float32bits(got[i]), v, math.Float32bits(v))
					}
				}
				if got[n] != 7 {
					t.Errorf("%s %s: %d steps: wrote after them", name, f.Name, steps)
				}
			}
		}
	}
}

// TestDecodedRows checks that one input has the same bits through decoded rows as through the loop for
// floats.
func TestDecodedRows(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for typ, k := range active.Load().kernels {
			if k.floats == nil || k.one == nil {
				continue
			}
			f, n := formatOf(typ), 2*quant.SuperBlock
			r := rand.New(rand.NewPCG(42, uint64(typ)))
			w, x, floats := randomBlocks(r, f, n/f.BlockElems), randomFloats(r, n), make([]float32, n)
			f.Dequantize(floats, w)
			got, want := k.one(&w[0], &x[0], n/k.step), k.floats.one(&bytesOf(floats)[0], &x[0], n/k.floats.step)
			if got != want {
				t.Errorf("%s %s: %g; its floats give %g", name, f.Name, got, want)
			}
		}
	}
}
