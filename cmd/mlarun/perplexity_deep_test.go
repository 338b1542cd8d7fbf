//go:build deep

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPerplexityCompare: how far f16 activations drift, and a run does not from itself.
func TestPerplexityCompare(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "logits")
	args := append(onText, "-chunks", "2")
	if r := mlarun("", append(args, "-save-logits", saved)...); r.code != 0 {
		t.Fatal(r.err)
	}
	same := mlarun("", append(args, "-compare", saved)...)
	if kl, agree := figure(t, same, "max"), figure(t, same, "token:"); !(kl < 1e-7) || agree != 100 || figure(t, same, "ratio to the base:") != 1 { // 16 bits per logit
		t.Errorf("compared with itself:\n%s", same.out)
	}
	if !strings.Contains(same.out, "tinyglm.gguf with bundle tinyglm (f32 activations), f32 cache, on cpu\n") || !strings.Contains(same.out, " 0 to 1e-08       126 ####") {
		t.Errorf("compared with itself:\n%s", same.out)
	}
	cache := mlarun("", append(args, "-compare", saved, "-kv", "f16")...)
	if kl := figure(t, cache, "mean"); !(kl > 0 && kl < 1e-5) {
		t.Errorf("f16 cache:\n%s", cache.out)
	}
	// What a cache of q8_0 costs: docs/kv-cache.md. A cache that nobody quantised is 2e-7 away.
	scaled := mlarun("", append(args, "-compare", saved, "-kv", "q8_0")...)
	if kl, agree := figure(t, scaled, "mean"), figure(t, scaled, "token:"); !(kl > 1e-5 && kl < 1e-3) || agree < 98 {
		t.Errorf("a cache of q8_0:\n%s", scaled.out)
	}
	// Rounding to halves is some 1e-3 of a logit, and a divergence goes with its square.
	// Now and then a token goes to another expert.
	half := mlarun("", append(args, "-compare", saved, "-act", "f16")...)
	if kl, agree := figure(t, half, "mean"), figure(t, half, "token:"); !(kl > 0 && kl < 1e-4) || agree < 99 {
		t.Errorf("f16 activations:\n%s", half.out)
	}
}
