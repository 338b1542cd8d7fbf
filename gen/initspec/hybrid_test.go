package initspec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// TestHybrids checks that the spec of a hybrid model agrees with its file, and that the stock types are
// recognised.
func TestHybrids(t *testing.T) {
	for name, profile := range map[string]string{"bailingmoe3-mini-Q4_K_M": "q4_k_m", "kimi-linear-mini-Q4_0": "q4_0", "bailingmoe3-mini-Q4_0": "q4_0"} {
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

// TestHybridNextN checks that a file without a multi-token prediction block, or with one of linear attention,
// is compiled without the block, and that the tensors missing from a block are named. The block has a limit
// of its own.
func TestHybridNextN(t *testing.T) {
	without := func(name string) func([]gguf.KV, []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
		return func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return meta, slices.DeleteFunc(tensors, func(t gguf.TensorInfo) bool { return strings.HasPrefix(t.Name, name) })
		}
	}
	limited := func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
		return set(meta, "bailingmoe3.swiglu_clamp_exp", gguf.Float32s([]float32{0, 0, 0, 0, 0.25})), tensors
	}
	for _, tt := range []struct {
		edit    func([]gguf.KV, []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo)
		layers  int
		limits  []float64
		missing string
	}{
		{edit: without("none"), layers: 1, limits: []float64{0, 0, 0.7, 0.5, 0}},
		{edit: limited, layers: 1, limits: []float64{0, 0, 0, 0, 0.25}},
		{edit: without("blk.4."), limits: []float64{0, 0, 0.7, 0.5}},
		{edit: without("blk.4.attn_kv_a_mqa"), limits: []float64{0, 0, 0.7, 0.5}},
		{edit: without("blk.4.layer_output_norm"), missing: `"blk.4.layer_output_norm.weight" is missing`},
		{edit: without("blk.4.attn_gate"), missing: `"blk.4.attn_gate.weight" is missing`},
	} {
		f, err := gguf.Open(edited(t, "../../testdata/hybrid/bailingmoe3-mini-Q4_0.gguf", tt.edit))
		if err != nil {
			t.Fatal(err)
		}
		text, err := Generate(f, "x.yaml")
		if tt.missing != "" {
			if err == nil || !strings.Contains(err.Error(), tt.missing) {
				t.Errorf("%v; expected %s", err, tt.missing)
			}
		} else if s, failed := spec.Parse("x.yaml", text); err != nil || failed != nil {
			t.Error(err, failed)
		} else if s.Model.NumNextNPredictLayers != tt.layers || !slices.Equal(s.Hybrid.Limits, tt.limits) {
			t.Errorf("%d multi-token prediction layers, limits %v; expected %d and %v", s.Model.NumNextNPredictLayers, s.Hybrid.Limits, tt.layers, tt.limits)
		} else if layer := s.NextNLayer(); tt.layers > 0 && layer.Hybrid.Limit(0, false) != tt.limits[4] {
			t.Errorf("the multi-token prediction layer has limits %v", layer.Hybrid.Limits)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
