package initspec

import (
	"reflect"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// TestHybrids: the spec of a hybrid model says what its file says, and the stock quantiser's types are known.
func TestHybrids(t *testing.T) {
	for name, profile := range map[string]string{"bailingmoe3-mini-Q4_K_M": "q4_k_m", "kimi-linear-mini-Q4_0": "q4_0"} {
		f, err := gguf.Open("../../testdata/hybrid/" + name + ".gguf")
		if err != nil {
			t.Fatal(err)
		}
		h, err := gguf.ReadHParams(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Generate(f, "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.Parse("x.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, limits := range []*[]float64{&h.Hybrid.Limits, &h.Hybrid.SharedLimits} {
			for i, x := range *limits {
				(*limits)[i] = shortest(x) // as a spec has it
			}
		}
		if s.Architecture != h.Architecture || !reflect.DeepEqual(s.Hybrid, h.Hybrid) || len(s.Quants) != 1 || s.Quants[0].Name != profile {
			t.Errorf("%s: spec %+v with %+v; the file has %+v and types of %s", name, s, s.Hybrid, h.Hybrid, profile)
		}
		for old, want := range map[string]string{
			"full_attn_layers: [4]":           "full_attn_layers: [4, 4] # must rise",
			"\n  head_dim: ":                  "\n  head_dim: 1 # expected a multiple of 32",
			"\nlinear_attn_config:":           "\nlinear_attn_configs: # unknown key",
			"short_conv_kernel_size: 4":       "short_conv_kernel_size: 40 # expected an integer from 2 to 16",
			"architecture: " + h.Architecture: "architecture: deepseek2 # deepseek2 have no layers with linear attention",
		} {
			edit, message, _ := strings.Cut(want, " # ")
			broken := strings.Replace(string(text), old, edit, 1)
			if _, err := spec.Parse("x.yaml", []byte(broken)); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s with %q: %v; expected %q", name, edit, err, message)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
