package quant

import (
	"math"
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
