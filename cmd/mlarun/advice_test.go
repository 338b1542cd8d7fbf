package main

import (
	"strings"
	"testing"

	"mla/runtime/engine"
)

// TestAdvice: what is proposed makes smaller what is too large.
func TestAdvice(t *testing.T) {
	there := engine.Available()
	for _, c := range []struct {
		need engine.Memory
		kv   string
		fits int
		want string
		not  string
	}{
		{engine.Memory{File: there + 1}, "f16", 0, "the weights alone take", "a smaller -c"},
		{engine.Memory{File: there, Copies: 1}, "f16", 0, "a smaller quantisation", "a smaller -c"},
		{engine.Memory{File: 1, Buffers: there}, "f16", 0, "a smaller -width", "-c "},
		{engine.Memory{File: 1, Pages: there}, "f32", 0, "a smaller -c needs less, and -kv f16 or q8_0", "weights"},
		{engine.Memory{File: 1, Pages: there}, "f16", 0, "a smaller -c needs less, and -kv q8_0", "weights"},
		{engine.Memory{File: 1, Pages: there}, "q8_0", 0, "a smaller -c needs less; -force", "-kv"},
		{engine.Memory{Copies: there + 1, OnDevice: true}, "f16", 0, "another quantisation", "-c "},
		{engine.Memory{File: 1, Pages: there}, "f16", 640, "-c 640 fits, and -kv q8_0", "a smaller -c"},
	} {
		got := (&flags{kv: c.kv}).advice(c.need, c.fits)
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%+v: %q; want %q, not %q", c.need, got, c.want, c.not)
		}
	}
}
