package bind

import (
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

func TestFitAccepts(t *testing.T) {
	tests := map[string]func(f *testFile, b *plan.Bundle){
		"as written": func(*testFile, *plan.Bundle) {},
		"legacy":     func(f *testFile, _ *plan.Bundle) { f.legacy(quant.Q8_0) },
		"legacy beside its parts": func(f *testFile, _ *plan.Bundle) {
			f.add("blk.0.attn_kv_b.weight", quant.F32, latent, heads*(nope+vdim))
		},
		"multi-token prediction": func(f *testFile, _ *plan.Bundle) {
			f.set("block_count", gguf.Uint32(3))
			f.set("nextn_predict_layers", gguf.Uint32(1))
			f.add("blk.2.nextn.enorm.weight", quant.F32, hidden)
			f.add("blk.2.attn_norm.weight", quant.F32, hidden)
		},
		"trailing dimensions of 1": func(f *testFile, _ *plan.Bundle) {
			f.remove("exp_probs_b")
			f.add("blk.1.exp_probs_b.bias", quant.F32, experts, 1, 1)
		},
		"yarn with factor 1": func(f *testFile, _ *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("yarn"))
			f.set("rope.scaling.factor", gguf.Float32(1))
			f.set("rope.scaling.yarn_log_multiplier", gguf.Float32(0))
		},
		"yarn rounded to float32": func(f *testFile, b *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("yarn"))
			f.set("rope.scaling.factor", gguf.Float32(40))
			f.set("rope.scaling.yarn_log_multiplier", gguf.Float32(0.0707))
			b.Model.Rope = plan.Rope{Theta: 10000, Yarn: true, Factor: 40, OriginalContext: 64, MScaleAllDim: 0.707, AttnFactor: 1}
		},
		"scaling type none": func(f *testFile, _ *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("none"))
			f.set("rope.scaling.factor", gguf.Float32(4))
		},
		"no expert scale is 1": func(f *testFile, b *plan.Bundle) {
			f.set("expert_weights_scale", gguf.Float32(0))
			b.Model.MoE.RoutedScalingFactor = 1
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f, b := newFile(), testBundle("b")
			change(f, b)
			for _, m := range Fit(f.open(t), b) {
				t.Error(m)
			}
		})
	}
}

func TestFitRejects(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *testFile, b *plan.Bundle)
		want   []string // one per mismatch
	}{
		{"norm eps", func(_ *testFile, b *plan.Bundle) { b.Model.RMSNormEps = 1e-5 }, []string{"rms_norm_eps: found 1e-06, expected 1e-05"}},
		{"architecture", func(_ *testFile, b *plan.Bundle) { b.Model.Architecture = "mistral4" }, []string{"architecture: found deepseek2, expected mistral4"}},
		{"temperature", func(f *testFile, b *plan.Bundle) {
			f.set("attention.temperature_scale", gguf.Float32(0.1))
			f.set("attention.temperature_length", gguf.Uint32(8192))
			b.Model.Temperature = plan.Temperature{Scale: 0.2, Length: 4096}
		}, []string{"temperature.scale: found 0.1, expected 0.2", "temperature.length: found 8192, expected 4096"}},
		{"no temperature", func(_ *testFile, b *plan.Bundle) { b.Model.Temperature = plan.Temperature{Scale: 0.2, Length: 4096} },
			[]string{"temperature.scale: found 0, expected 0.2", "temperature.length: found 0, expected 4096"}},
		{"q_lora_rank", func(_ *testFile, b *plan.Bundle) { b.Model.QLoraRank = 16 }, []string{"q_lora_rank: found 0, expected 16"}},
		{"theta", func(f *testFile, _ *plan.Bundle) { f.set("rope.freq_base", gguf.Float32(1e6)) }, []string{"rope_theta: found 1000000, expected 10000"}},
		{"yarn", func(f *testFile, _ *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("yarn"))
			f.set("rope.scaling.factor", gguf.Float32(40))
		}, []string{"rope_scaling.type: found yarn, expected none", "rope_scaling.factor: found 40, expected 1"}},
		{"linear", func(f *testFile, _ *plan.Bundle) { f.set("rope.scaling.factor", gguf.Float32(2)) }, []string{`rope.scaling.factor" is 2`}},
		{"attn_factor", func(f *testFile, b *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("yarn"))
			f.set("rope.scaling.attn_factor", gguf.Float32(1.25))
		}, []string{"rope_scaling.attn_factor: found 1.25, expected 1"}},
		{"mscale absent", func(f *testFile, b *plan.Bundle) {
			f.set("rope.scaling.type", gguf.String("yarn"))
			f.set("rope.scaling.factor", gguf.Float32(40))
			b.Model.Rope = plan.Rope{Theta: 10000, Yarn: true, Factor: 40, OriginalContext: 32, MScaleAllDim: 1, AttnFactor: 1}
		}, []string{"original_max_position_embeddings: found 64, expected 32", "mscale_all_dim: found 0, expected 1"}},
		{"gating", func(f *testFile, _ *plan.Bundle) { f.set("expert_gating_func", gguf.Uint32(1)) }, []string{"scoring_func: found softmax, expected sigmoid"}},
		{"dense", func(f *testFile, b *plan.Bundle) { b.Model.MoE = plan.MoE{} },
			[]string{"first_k_dense_replace: found 1, expected 2", "n_routed_experts: found 3, expected 0"}},
		{"bias", func(f *testFile, _ *plan.Bundle) { f.remove("exp_probs_b") },
			[]string{"selection_bias: found false, expected true", `tensor "blk.1.exp_probs_b.bias" (mlp.gate.e_score_correction_bias): found no such tensor, expected dimensions [3]`}},
		{"untied", func(f *testFile, _ *plan.Bundle) { f.add("output.weight", quant.F32, hidden, vocab) },
			[]string{"tie_word_embeddings: found false, expected true", `tensor "output.weight": found a tensor that no kernel reads`}},
		{"missing in two layers", func(f *testFile, _ *plan.Bundle) { f.remove("attn_norm") },
			[]string{`tensor "blk.0.attn_norm.weight" (input_layernorm): found no such tensor, expected dimensions [32] (the same in 1 more)`}},
		{"shape", func(f *testFile, _ *plan.Bundle) {
			f.remove("blk.1.attn_k_b")
			f.add("blk.1.attn_k_b.weight", quant.F32, latent, nope*heads)
		}, []string{`tensor "blk.1.attn_k_b.weight" (self_attn.k_b_proj): found dimensions [32, 64], expected [32, 32, 2]`}},
		{"type", func(f *testFile, _ *plan.Bundle) { f.retype("blk.1.attn_v_b", quant.Q4_0) },
			[]string{`tensor "blk.1.attn_v_b.weight" (self_attn.v_b_proj): found type Q4_0, expected one of F32, Q8_0`}},
		{"type of a transposed copy", func(f *testFile, b *plan.Bundle) {
			f.legacy(quant.Q8_0)
			b.Weights[2].Types = []quant.Type{quant.Q8_0}
		}, []string{`tensor "blk.0.attn_kv_b.weight" (self_attn.k_b_proj): found type Q8_0, transposed to F32, expected Q8_0 (the same in 1 more)`}},
		{"legacy shape", func(f *testFile, b *plan.Bundle) {
			f.legacy(quant.F32)
			f.remove("blk.1.attn_kv_b")
			f.add("blk.1.attn_kv_b.weight", quant.F32, latent, nope*heads)
		}, []string{"(self_attn.k_b_proj): found dimensions [32, 64], expected [32, 192]", "(self_attn.v_b_proj): found dimensions [32, 64], expected [32, 192]"}},
		{"an unexpected tensor", func(f *testFile, _ *plan.Bundle) { f.add("blk.0.attn_q_a.bias", quant.F32, 4) }, []string{`tensor "blk.0.attn_q_a.bias": found a tensor that no kernel reads`}},
		{"architecture", func(f *testFile, _ *plan.Bundle) { f.keys["general.architecture"] = gguf.String("llama") }, []string{`"llama"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, b := newFile(), testBundle("b")
			tt.change(f, b)
			got := Fit(f.open(t), b)
			for i, m := range got {
				if i >= len(tt.want) || !strings.Contains(m.String(), tt.want[i]) {
					t.Errorf("mismatch %d is %q", i, m)
				}
			}
			if len(got) < len(tt.want) {
				t.Errorf("%d mismatches; want %q", len(got), tt.want)
			}
			if _, err := Bind(f.open(t), b); err == nil {
				t.Error("Bind accepts the file")
			}
		})
	}
}

// TestFitCombinations has a kernel that reads two weights, compiled for equal
// types only.
func TestFitCombinations(t *testing.T) {
	f, b := newFile(), testBundle("b")
	slot := func(name string) plan.Slot {
		return plan.Slot{Name: name, Space: plan.SpaceWeight, Elem: plan.ElemTyped}
	}
	b.Kernels = []plan.Kernel{{Name: "experts", Slots: []plan.Slot{slot("gate"), slot("up"), {Name: "cache", Space: plan.SpaceKV, Elem: plan.ElemTyped}},
		Variants: []plan.Variant{{Types: []quant.Type{quant.F32, quant.F32, quant.F16}}, {Types: []quant.Type{quant.Q8_0, quant.Q8_0, quant.F16}}}}}
	b.Sequences = []plan.Sequence{{Width: 1, Dispatches: []plan.Dispatch{{Layer: 1, Operands: []plan.Operand{{Index: 5}, {Index: 6}, {Space: plan.SpaceKV}}}}}}
	if bad := Fit(f.open(t), b); len(bad) > 0 {
		t.Errorf("equal types do not fit: %v", bad)
	}
	f.retype("ffn_up_exps", quant.Q8_0)
	bad := Fit(f.open(t), b)
	if len(bad) != 1 || !strings.Contains(bad[0].String(), "kernel experts in layer 1: found weight types gate F32, up Q8_0") {
		t.Errorf("mixed types give %v", bad)
	}
}

// TestFitUnknownType has a type that package quant cannot read.
func TestFitUnknownType(t *testing.T) {
	file := newFile().open(t)
	tensor, _ := file.Tensor("blk.1.attn_v_b.weight")
	tensor.Type, tensor.Data = 153, nil // of ik_llama.cpp
	bad := Fit(file, testBundle("b"))
	if len(bad) != 1 || !strings.Contains(bad[0].String(), "found type IQ2_KT, which this program does not run, expected one of F32, Q8_0") {
		t.Errorf("%v", bad)
	}
}
