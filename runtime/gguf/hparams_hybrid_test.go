package gguf

import (
	"reflect"
	"slices"
	"testing"

	"mla/runtime/gguf/hparams"
)

const hybridFolder = "../../testdata/hybrid/"

// TestHybridHParams checks the parameters of files of both architectures.
func TestHybridHParams(t *testing.T) {
	for name, want := range map[string]struct {
		hybrid hparams.Hybrid
		qLora  int
		norm   bool
		scale  float32
		groups int
	}{
		"kimi-linear-mini-Q4_0": {hparams.Hybrid{LinearAttention: hparams.LinearAttention{HeadDim: 64, ShortConvKernelSize: 4}, FullAttnLayers: []int{3}}, 0, true, 2.446, 1},
		"bailingmoe3-mini-Q4_K_M": {hparams.Hybrid{LinearAttention: hparams.LinearAttention{HeadDim: 32, ShortConvKernelSize: 4, GateLowerBound: -5}, FullAttnLayers: []int{3},
			HybridExperts: hparams.HybridExperts{SharedIntermediateSize: 64}}, 32, true, 2.5, 3},
	} {
		h, err := ReadHParams(open(t, hybridFolder+name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		got := *h.Hybrid
		limited := got.Limits != nil && got.SharedLimits != nil
		if limited != (want.hybrid.GateLowerBound != 0) {
			t.Errorf("%s: limits %v and %v", name, got.Limits, got.SharedLimits)
		}
		got.Limits, got.SharedLimits = nil, nil
		if !reflect.DeepEqual(got, want.hybrid) || h.QLoraRank != want.qLora || h.NormTopKProb != want.norm || h.NGroup != want.groups || h.RoutedScalingFactor != float64(want.scale) {
			t.Errorf("%s: %+v and %+v; expected %+v", name, got, h, want)
		}
	}
}

// TestHybridErrors checks that the error names a key that is missing or has an unsupported value.
func TestHybridErrors(t *testing.T) {
	const ling, kimi = "bailingmoe3", "kimi-linear"
	files := map[string]string{ling: "bailingmoe3-mini-Q4_K_M", kimi: "kimi-linear-mini-Q4_0"}
	for _, tt := range []struct {
		arch, key string
		value     Value
		want      string
	}{
		{kimi, "attention.head_count_kv", Int32s([]int32{0, 0, 1}), "has 3 numbers; expected one for each of the 4 layers"},
		{kimi, "attention.head_count_kv", Int32s([]int32{0, 0, 0, 0}), "gives 0 of 4 layers multi-head latent attention"},
		{kimi, "attention.head_count_kv", Int32s([]int32{1, 1, 1, 1}), "gives 4 of 4 layers"},
		{kimi, "attention.head_count_kv", Int32s([]int32{0, 2, 0, 1}), "is 2 for layer 1"},
		{kimi, "attention.head_count_kv", Uint32(1), "array"},
		{kimi, "kda.head_dim", Uint32(0), "is 0; expected 1 to 1024"},
		{kimi, "ssm.conv_kernel", Uint32(1), "is 1; expected 2 to 16"},
		{kimi, "ssm.state_size", Uint32(1), "needs state-space layers"},
		{kimi, "kda.safe_gate", Bool(true), "not known to have the key"},
		{kimi, "rope.scaling.type", String("yarn"), `is "yarn"`},
		{kimi, "swiglu_clamp_exp", Float32(7), "not known to have the key"},
		{ling, "kda.safe_gate", Bool(false), "is false; expected true"},
		{ling, "kda.gate_lower_bound", Float32(0), "is 0; expected a negative number"},
		{ling, "kda.gate_lower_bound", Float32(5), "is 5; expected -10000 to 0"},
		{ling, "swiglu_clamp_exp", Float32s([]float32{1}), "has 1 numbers; expected one for each"},
		{ling, "swiglu_clamp_exp", Float32s([]float32{0, 0, -1, 0}), "is -1 for layer 2"},
	} {
		f := open(t, hybridFolder+files[tt.arch]+".gguf")
		f.Set(tt.arch+"."+tt.key, tt.value)
		_, err := ReadHParams(f)
		wantError(t, err, tt.arch+"."+tt.key, tt.want)
	}
}

// TestHybridLimits checks the limits of activations: a dense layer has a limit of shared experts and none of experts,
// and a limit of nearly zero counts as none.
func TestHybridLimits(t *testing.T) {
	f := open(t, hybridFolder+"bailingmoe3-mini-Q4_K_M.gguf")
	f.Set("bailingmoe3.swiglu_clamp_exp", Float32s([]float32{4, 4, 0.5, 0}))
	f.Set("bailingmoe3.swiglu_clamp_shexp", Float32s([]float32{0, 7, 0, 1e-7}))
	h, err := ReadHParams(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Hybrid; !slices.Equal(got.Limits, []float64{0, 0, 0.5, 0}) || !slices.Equal(got.SharedLimits, []float64{0, 7, 0, 0}) {
		t.Errorf("limits %v, shared %v", got.Limits, got.SharedLimits)
	}
}
