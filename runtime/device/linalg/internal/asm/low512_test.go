package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// TestLow512 interprets the loops of low512.go, on any machine. Decoded rows must have the bits of Dequantize. A product
// must agree with that of the decoded floats, up to the rounding of sums.
func TestLow512(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	assembly := string(files["zdot_amd64.s"])
	nvfp4, _ := quant.Lookup(quant.NVFP4)
	scales := make([]float32, 256)
	for e := range scales {
		var w [64]float32
		block := make([]byte, nvfp4.BlockBytes)
		block[0], block[4] = byte(e), 1 // element 0 is the scale times 1
		nvfp4.Dequantize(w[:], block)
		scales[e] = w[0]
	}
	m := newMachine(assembly, map[string][]float32{"nvfp4Scales": scales})
	r := rand.New(rand.NewPCG(61, 1))
	for _, f := range formatsLow512 {
		format, ok := quant.ByName(f.name)
		if !ok || f.elems != format.BlockElems || f.bytes != format.BlockBytes {
			t.Fatalf("%s: no such format", f.name)
		}
		for steps := uint64(1); steps <= 3; steps++ {
			n := int(steps) * f.elems
			numbers, x, want := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				numbers[i], x[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			}
			w := m.memory[weightsAt:][:int(steps)*f.bytes]
			format.Quantize(w, numbers)
			format.Dequantize(want, w)
			if err := m.call(assembly, "decode"+f.name+"AVX512", weightsAt, steps, floatsAt); err != nil {
				t.Fatal(err)
			}
			var sum, magnitude float64
			for i, v := range want {
				if got := floatAt(m.memory[floatsAt+4*i:]); math.Float32bits(got) != math.Float32bits(v) {
					t.Fatalf("%s: element %d of %d is %g, want %g", f.name, i, n, got, v)
				}
				sum += float64(v) * float64(x[i])
				magnitude += math.Abs(float64(v) * float64(x[i]))
			}
			putFloats(m.memory[floatsAt:], x)
			if err := m.call(assembly, "dot"+f.name+"AVX512", weightsAt, floatsAt, steps); err != nil {
				t.Fatal(err)
			}
			// Each of n/16 additions of a lane rounds twice here, and so do the last four.
			if got := float64(floatAt(m.memory[argsAt+24:])); !(math.Abs(got-sum) <= (float64(n)/8+8)*0x1p-24*magnitude) {
				t.Errorf("%s: %d elements: %g, want %g", f.name, n, got, sum)
			}
			// Four rows: the last is this one, the others begin a block earlier each.
			before := m.memory[weightsAt-3*f.bytes : weightsAt]
			format.Quantize(before, numbers[:f.elems])
			copy(before[f.bytes:], before[:f.bytes])
			copy(before[2*f.bytes:], before[:f.bytes])
			var want4 [4]float32
			for r := range want4 {
				if err := m.call(assembly, "dot"+f.name+"AVX512", uint64(weightsAt-(3-r)*f.bytes), floatsAt, steps); err != nil {
					t.Fatal(err)
				}
				want4[r] = floatAt(m.memory[argsAt+24:])
			}
			if err := m.call(assembly, "dot"+f.name+"x4AVX512", uint64(weightsAt-3*f.bytes), uint64(f.bytes), floatsAt, steps, resultsAt); err != nil {
				t.Fatal(err)
			}
			for r, want := range want4 {
				if got := floatAt(m.memory[resultsAt+4*r:]); got != want {
					t.Errorf("%s: %d elements, row %d of four: %g; alone %g", f.name, n, r, got, want)
				}
			}
		}
	}
}
