package weights_test

import (
	"fmt"
	"slices"
	"testing"

	"mla/gen/spec"
	"mla/gen/weights"
)

// small is a model in which no two dimensions are equal.
func small() *spec.Spec {
	s := &spec.Spec{}
	s.Model = spec.Model{Dims: spec.Dims{VocabSize: 1000, HiddenSize: 64, NumHiddenLayers: 3, NumAttentionHeads: 5, QLoraRank: 96,
		KVLoraRank: 128, QKNopeHeadDim: 40, QKRopeHeadDim: 16, VHeadDim: 24, IntermediateSize: 192}}
	s.MoE = &spec.MoE{NRoutedExperts: 7, NumExpertsPerTok: 2, NSharedExperts: 2, MoEIntermediateSize: 32, FirstKDenseReplace: 1, SelectionBias: true}
	return s
}

// describe writes a row as layers, GGUF name and ne, with "f32" and "vector".
func describe(r weights.Row) string {
	layers := "-"
	if r.First >= 0 {
		layers = fmt.Sprintf("%d-%d", r.First, r.Last-1)
	}
	kind := ""
	switch {
	case r.Vector:
		kind = " vector"
	case r.F32:
		kind = " f32"
	}
	return fmt.Sprintf("%s %s %dx%dx%d%s", layers, r.GGUF, r.Cols, r.Rows, r.Batch, kind)
}

// TestTable holds names and shapes as converters write them (ne[0] first).
func TestTable(t *testing.T) {
	want := []string{
		"- token_embd.weight 64x1000x1",
		"0-2 blk.%d.attn_norm.weight 64x1x1 vector",
		"0-2 blk.%d.attn_q_a.weight 64x96x1",
		"0-2 blk.%d.attn_q_a_norm.weight 96x1x1 vector",
		"0-2 blk.%d.attn_q_b.weight 96x280x1", // 5 heads of 40+16
		"0-2 blk.%d.attn_kv_a_mqa.weight 64x144x1",
		"0-2 blk.%d.attn_kv_a_norm.weight 128x1x1 vector",
		"0-2 blk.%d.attn_k_b.weight 40x128x5",
		"0-2 blk.%d.attn_v_b.weight 128x24x5",
		"0-2 blk.%d.attn_output.weight 120x64x1", // 5 heads of 24
		"0-2 blk.%d.ffn_norm.weight 64x1x1 vector",
		"0-0 blk.%d.ffn_gate.weight 64x192x1",
		"0-0 blk.%d.ffn_up.weight 64x192x1",
		"0-0 blk.%d.ffn_down.weight 192x64x1",
		"1-2 blk.%d.ffn_gate_inp.weight 64x7x1 f32",
		"1-2 blk.%d.exp_probs_b.bias 7x1x1 vector",
		"1-2 blk.%d.ffn_gate_exps.weight 64x32x7",
		"1-2 blk.%d.ffn_up_exps.weight 64x32x7",
		"1-2 blk.%d.ffn_down_exps.weight 32x64x7",
		"1-2 blk.%d.ffn_gate_shexp.weight 64x64x1", // 2 shared experts of 32
		"1-2 blk.%d.ffn_up_shexp.weight 64x64x1",
		"1-2 blk.%d.ffn_down_shexp.weight 64x64x1",
		"- output_norm.weight 64x1x1 vector",
		"- output.weight 64x1000x1",
	}
	var got []string
	for _, r := range weights.Table(small()) {
		got = append(got, describe(r))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// TestOptional checks which options leave out which rows.
func TestOptional(t *testing.T) {
	roles := func(change func(s *spec.Spec)) (list []string) {
		s := small()
		change(s)
		for _, r := range weights.Table(s) {
			list = append(list, r.Role)
		}
		return list
	}
	all := roles(func(*spec.Spec) {})
	for _, tt := range []struct {
		name       string
		change     func(s *spec.Spec)
		gone, more []string
	}{
		{"one q_proj", func(s *spec.Spec) { s.Model.QLoraRank = 0 },
			[]string{weights.QAProj, weights.QANorm, weights.QBProj}, []string{weights.QProj}},
		{"tied head", func(s *spec.Spec) { s.Model.TieWordEmbeddings = true }, []string{weights.LMHead}, nil},
		{"no bias", func(s *spec.Spec) { s.MoE.SelectionBias = false }, []string{weights.RouterBias}, nil},
		{"no shared experts", func(s *spec.Spec) { s.MoE.NSharedExperts = 0 },
			[]string{weights.SharedGate, weights.SharedUp, weights.SharedDown}, nil},
		{"no dense layer", func(s *spec.Spec) { s.MoE.FirstKDenseReplace = 0 },
			[]string{weights.GateProj, weights.UpProj, weights.DownProj}, nil},
		{"dense", func(s *spec.Spec) { s.MoE = nil }, []string{weights.Router, weights.RouterBias, weights.ExpertsGate, weights.ExpertsUp,
			weights.ExpertsDown, weights.SharedGate, weights.SharedUp, weights.SharedDown}, nil},
	} {
		got := roles(tt.change)
		for _, role := range all {
			if slices.Contains(got, role) == slices.Contains(tt.gone, role) {
				t.Errorf("%s: role %s is there: %v", tt.name, role, slices.Contains(got, role))
			}
		}
		for _, role := range got {
			if !slices.Contains(all, role) && !slices.Contains(tt.more, role) {
				t.Errorf("%s: unexpected role %s", tt.name, role)
			}
		}
		if want := len(all) - len(tt.gone) + len(tt.more); len(got) != want {
			t.Errorf("%s: %d roles, want %d", tt.name, len(got), want)
		}
	}
}

// TestFused checks that a fused tensor has as many elements as both of its parts.
func TestFused(t *testing.T) {
	s := small()
	if got, want := describe(weights.LegacyKVB(s)), "0-2 blk.%d.attn_kv_b.weight 128x320x1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := describe(weights.FusedExperts(s)), "1-2 blk.%d.ffn_gate_up_exps.weight 64x64x7"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	elems := map[string]int{}
	for _, r := range weights.Table(s) {
		elems[r.Alt] += r.Elems()
	}
	for _, fused := range []weights.Row{weights.LegacyKVB(s), weights.FusedExperts(s)} {
		if elems[fused.GGUF] != fused.Elems() {
			t.Errorf("%s has %d elements, its parts %d", fused.GGUF, fused.Elems(), elems[fused.GGUF])
		}
	}
	if len(elems) != 3 { // and "", for all the others
		t.Errorf("alternatives of %d kinds", len(elems))
	}
}
