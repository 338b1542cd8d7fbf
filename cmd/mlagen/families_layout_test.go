package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestContainers has the same model in other GGUF containers.
func TestContainers(t *testing.T) {
	s := glm(t)
	m := loadModel(t, synthFile(t, s, "q5_k_m", 6))
	for name, path := range map[string]string{"version 2": m.writeVersion2(t), "2 shards": m.writeSplit(t, 2), "3 shards": m.writeSplit(t, 3)} {
		t.Run(name, func(t *testing.T) { compareFile(t, path, s) })
	}
}

// TestOtherFiles tries the bundle of one file with files that differ from it. The runtime must refuse every
// file for which the bundle would compute wrong results.
func TestOtherFiles(t *testing.T) {
	s := glm(t)
	m := loadModel(t, synthFile(t, s, "q4_0", 7))
	open := func(m *modelFile) *gguf.File {
		f, err := gguf.Open(m.write(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	b := bundleOf(t, open(m))
	tests := []struct {
		name   string
		change func(m *modelFile)
		want   string // in the message; "": the file fits
	}{
		{"the same", func(*modelFile) {}, ""},
		{"fused experts", func(m *modelFile) { m.fuseExperts(s) }, ""},
		{"multi-token prediction", func(m *modelFile) { m.addPrediction(s) }, ""},
		{"longer context", func(m *modelFile) { m.set("context_length", gguf.Uint32(1<<17)) }, ""},
		{"another type", func(m *modelFile) { m.retype("blk.1.attn_output.weight", quant.Q8_0) }, "Q8_0"},
		{"another theta", func(m *modelFile) { m.set("rope.freq_base", gguf.Float32(1234)) }, "rope_theta: found 1234"},
		{"another eps", func(m *modelFile) { m.set("attention.layer_norm_rms_epsilon", gguf.Float32(1e-3)) }, "rms_norm_eps: found 0.001"},
		{"softmax", func(m *modelFile) { m.set("expert_gating_func", gguf.Uint32(1)) }, "scoring_func: found softmax, expected sigmoid"},
		{"another scale", func(m *modelFile) { m.set("expert_weights_scale", gguf.Float32(2.5)) }, "routed_scaling_factor: found 2.5, expected 1.8"},
		{"fewer experts per token", func(m *modelFile) {
			m.set("expert_used_count", gguf.Uint32(uint32(s.MoE.NumExpertsPerTok+1)))
		}, "num_experts_per_tok"},
		{"YaRN", func(m *modelFile) {
			m.set("rope.scaling.type", gguf.String("yarn"))
			m.set("rope.scaling.factor", gguf.Float32(4))
		}, "rope_scaling.type: found yarn, expected none"},
		{"tied", func(m *modelFile) { m.remove("output.weight") }, "tie_word_embeddings: found true, expected false"},
		{"a bias", func(m *modelFile) { m.add("blk.0.attn_output.bias", quant.F32, []uint64{4}, make([]byte, 16)) }, "blk.0.attn_output.bias"},
		{"another architecture", func(m *modelFile) { m.meta[0].Value = gguf.String("llama") }, "general.architecture"},
	}
	for _, tt := range tests {
		other := m.clone()
		tt.change(other)
		_, err := bind.Resolve(open(other)).Choose([]*plan.Bundle{b}, bind.Wish{})
		var fit *bind.FitError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.As(err, &fit) || !strings.Contains(fit.Closest(), tt.want)):
			t.Errorf("%s: %v; expected a message with %q", tt.name, err, tt.want)
		}
	}
}

// fuseExperts joins the experts' gate and up projections: per expert the rows
// of gate, then those of up.
func (m *modelFile) fuseExperts(s *spec.Spec) {
	for l := s.MoE.FirstKDenseReplace; l < s.Model.NumHiddenLayers; l++ {
		info, gate := m.remove(fmt.Sprintf("blk.%d.ffn_gate_exps.weight", l))
		_, up := m.remove(fmt.Sprintf("blk.%d.ffn_up_exps.weight", l))
		n := len(gate) / s.MoE.NRoutedExperts
		var both []byte
		for e := range s.MoE.NRoutedExperts {
			both = append(append(both, gate[e*n:][:n]...), up[e*n:][:n]...)
		}
		m.add(fmt.Sprintf("blk.%d.ffn_gate_up_exps.weight", l), info.Type, []uint64{info.Dims[0], 2 * info.Dims[1], info.Dims[2]}, both)
	}
}

// addPrediction adds a block that predicts a second token: a copy of the last
// layer and the tensors that join it to the model.
func (m *modelFile) addPrediction(s *spec.Spec) {
	n, d := s.Model.NumHiddenLayers, uint64(s.Model.HiddenSize)
	m.set("block_count", gguf.Uint32(uint32(n+1)))
	m.set("nextn_predict_layers", gguf.Uint32(1))
	last, next := fmt.Sprintf("blk.%d.", n-1), fmt.Sprintf("blk.%d.", n)
	for _, x := range slices.Clone(m.tensors) {
		if name, ok := strings.CutPrefix(x.Name, last); ok {
			m.add(next+name, x.Type, x.Dims, m.data[x.Name])
		}
	}
	m.add(next+"nextn.eh_proj.weight", quant.F32, []uint64{2 * d, d}, make([]byte, 8*d*d))
	for _, norm := range []string{"enorm", "hnorm", "shared_head_norm"} {
		m.add(next+"nextn."+norm+".weight", quant.F32, []uint64{d}, make([]byte, 4*d))
	}
}

// retype quantises a tensor again.
func (m *modelFile) retype(name string, t quant.Type) {
	info, data := m.remove(name)
	to, _ := quant.Lookup(t)
	x := dequantize(info.Type, data)
	out := make([]byte, len(x)/to.BlockElems*to.BlockBytes)
	to.Quantize(out, x)
	m.add(name, t, info.Dims, out)
}
