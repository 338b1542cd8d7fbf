package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// halfValue is the meaning of a finite half's bits.
func halfValue(h uint16) float64 { return half64([]byte{byte(h), byte(h >> 8)}, 0) }

// TestHalfToFloat is exhaustive.
func TestHalfToFloat(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got := HalfToFloat(h)
		switch {
		case h&0x7fff == 0x7c00:
			if !math.IsInf(float64(got), 1-int(h>>15)*2) {
				t.Errorf("%#04x = %v", h, got)
			}
		case h&0x7c00 == 0x7c00:
			if got == got {
				t.Errorf("%#04x = %v, want NaN", h, got)
			}
		default:
			if float64(got) != halfValue(h) || math.Signbit(float64(got)) != (h>>15 == 1) {
				t.Errorf("%#04x = %v, want %v", h, got, halfValue(h))
			}
		}
	}
}

// TestFloatToHalf takes every half, and around the middle between each and the
// next the three floats that decide the rounding.
func TestFloatToHalf(t *testing.T) {
	check := func(f float32, want uint16) {
		t.Helper()
		if got := FloatToHalf(f); got != want {
			t.Errorf("FloatToHalf(%v) = %#04x, want %#04x", f, got, want)
		}
		if got := FloatToHalf(-f); got != want|0x8000 {
			t.Errorf("FloatToHalf(%v) = %#04x, want %#04x", -f, got, want|0x8000)
		}
	}
	for h := uint16(0); h < 0x7c00; h++ {
		check(HalfToFloat(h), h)
		next := halfValue(h + 1) // of 0x7c00: 65536, where infinity begins to be nearer
		middle := float32((halfValue(h) + next) / 2)
		check(math.Nextafter32(middle, 0), h)
		check(middle, h+h&1) // to even
		check(math.Nextafter32(middle, float32(math.Inf(1))), h+1)
	}
	check(float32(math.Inf(1)), 0x7c00)
	check(math.MaxFloat32, 0x7c00)
	check(math.SmallestNonzeroFloat32, 0)
	if h := FloatToHalf(float32(math.NaN())); h&0x7c00 != 0x7c00 || h&0x3ff == 0 {
		t.Errorf("NaN becomes %#04x", h)
	}
	// A NaN whose payload has only low bits must not become an infinity.
	if h := FloatToHalf(math.Float32frombits(0x7f800001)); h&0x3ff == 0 {
		t.Errorf("NaN becomes %#04x", h)
	}
}

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
		if want := HalfToFloat(src[i]); math.Float32bits(got) != math.Float32bits(want) {
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
		if want := FloatToHalf(src[i]); got != want {
			t.Fatalf("%s: %v (%#x) = %#04x, want %#04x", name, src[i], math.Float32bits(src[i]), got, want)
		}
	}
}
