package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	r := mlarun("", "inspect", glm)
	for _, want := range []string{"deepseek2.attention.kv_lora_rank", "self_attn.k_b_proj", "blk.N.attn_k_b.weight", "F16 [48 64 5]", "layers 0-3",
		"glm47tiny (f32 activations) fits, quant profile", "mlarun uses glm47tiny."} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("code %d, lacks %q:\n%s", r.code, want, r.out)
		}
	}
	r = mlarun("", "inspect", glm, "-bundle", "glm47mini")
	for _, want := range []string{"glm47mini does not fit:", "kv_lora_rank: found 64, expected 256", "To make a bundle for this file: mlagen -gguf"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("code %d, lacks %q:\n%s", r.code, want, r.out)
		}
	}
	if r := with(nil, "", "inspect", glm); r.code != 0 || !strings.Contains(r.out, "mlagen -gguf "+glm) {
		t.Errorf("without bundles: code %d\n%s", r.code, r.out)
	}
}

// TestInspectOtherArchitecture must not offer commands that cannot work.
func TestInspectOtherArchitecture(t *testing.T) {
	data, err := os.ReadFile(glm)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "other.gguf")
	if err := os.WriteFile(path, bytes.Replace(data, []byte("deepseek2"), []byte("deepseek9"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	r := mlarun("", "inspect", path)
	if r.code != 0 || !strings.Contains(r.out, `none can fit: `) || !strings.Contains(r.out, `is "deepseek9"; expected an architecture with multi-head latent attention that this program covers: `) || strings.Contains(r.out, "mlagen") {
		t.Errorf("code %d, %s%s", r.code, r.out, r.err)
	}
}

func TestRanges(t *testing.T) {
	for want, layers := range map[string][]int{"": nil, "layer 3": {3}, "layers 0-2,4,7-8": {8, 0, 1, 2, 4, 7}} {
		if got := ranges(layers); got != want {
			t.Errorf("ranges(%d) = %q; want %q", layers, got, want)
		}
	}
}
