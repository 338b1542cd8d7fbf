package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/quant"
)

// TestHalvesToFloats compares every half, and all lengths around the step of the
// vector loops, with the scalar function, bit by bit.
func TestHalvesToFloats(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range 100 {
			checkWidened(t, name, all[0x3c00:0x3c00+n])
		}
		checkWidened(t, name, all)
	}
}

func checkWidened(t *testing.T, name string, src []uint16) {
	t.Helper()
	dst := make([]float32, len(src))
	HalvesToFloats(dst, src)
	for i, got := range dst {
		if want := quant.HalfToFloat(src[i]); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%s: %#04x = %v, want %v", name, src[i], got, want)
		}
	}
}

// TestFloatsToHalves compares random bits, and all lengths around the step of the
// vector loops, with the scalar function.
func TestFloatsToHalves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	all := make([]float32, 1<<18)
	for i := range all {
		bits := r.Uint32()
		if i%2 == 0 { // half of them within the range of halves and a little beyond
			bits = bits&0x807fffff | (100+bits>>24%32+bits>>16&15)<<23
		}
		all[i] = math.Float32frombits(bits)
	}
	for _, name := range backendNames() {
		useBackend(t, name)
		for n := range 100 {
			checkRounded(t, name, all[:n])
		}
		checkRounded(t, name, all)
	}
}

func checkRounded(t *testing.T, name string, src []float32) {
	t.Helper()
	dst := make([]uint16, len(src))
	FloatsToHalves(dst, src)
	for i, got := range dst {
		if want := quant.FloatToHalf(src[i]); got != want {
			t.Fatalf("%s: %v (%#x) = %#04x, want %#04x", name, src[i], math.Float32bits(src[i]), got, want)
		}
	}
}
