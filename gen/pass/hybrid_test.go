package pass

import (
	"slices"
	"strings"
	"testing"

	"mla/gen/lower"
	"mla/gen/spectest"
	"mla/runtime/plan"
	"mla/tools/tests/deep"
)

// TestTranslationHybrids is TestTranslation for models with linear attention, of both architectures.
func TestTranslationHybrids(t *testing.T) {
	models, widths := uint64(2), []int{1, 3}
	if deep.On {
		models, widths = 12, []int{1, 2, 3, 8, 16}
	}
	for seed, s := range spectest.Hybrids(models) {
		w := &spectest.Weights{Spec: s}
		for _, width := range widths {
			translate(t, seed, s, w, width)
		}
		for _, class := range []string{"", plan.ClassApple} { // prompts by chunks, and row by row
			prompt := *s
			prompt.Class = class
			translate(t, seed, &prompt, w, 24)
		}
		if s.Predicts() { // the layer has no linear attention, and gates on heads
			layer := s.NextNLayer()
			translate(t, seed, layer, &spectest.Weights{Spec: layer}, widths[len(widths)-1])
		}
	}
}

// TestLinearDispatches: the attention half of a layer with linear attention is three dispatches, whatever its gates
// are, and of several rows with low-rank gates one more: products for their second halves. Of prompts they are two more:
// the steps before the delta rule, and the norm after it, have dispatches of their own. Gates on heads of the other
// layers cost none where attention is over latent rows.
func TestLinearDispatches(t *testing.T) {
	const qkv, vectors, out = "linear_q_linear_k_linear_v_", "linear_q_conv_linear_k_conv_linear_v_conv", "linear_o"
	for _, tt := range []struct {
		seed, width int
		class       string
		linear      []string
		last        string // of the other layers, in front of the feed-forward part
	}{
		{0, 1, "", []string{qkv + "linear_f_linear_g_linear_beta", "delta_rule", out}, "v_b o_proj"},
		{0, 3, "", []string{qkv + "linear_f_linear_g_linear_beta", "delta_rule", out}, "v_b o_proj"},
		{0, 24, plan.ClassApple, []string{qkv + "linear_f_linear_g_linear_beta", vectors, "delta_rule", "linear_o_norm", out}, "attention gate_heads o_proj"},
		{0, 24, "", []string{qkv + "linear_f_linear_g_linear_beta", vectors, "delta_fold", "linear_o_norm", out}, "attention gate_heads o_proj"},
		{1, 1, "", []string{qkv + "linear_f_a_linear_g_a_linear_beta", "linear_f_b_linear_g_b_delta_rule", out}, "v_b o_proj"},
		{1, 3, "", []string{qkv + "linear_f_a_linear_g_a_linear_beta", "linear_f_b_linear_g_b", "delta_rule", out}, "v_b o_proj"},
	} {
		s := spectest.Hybrid(uint64(tt.seed))
		s.Tuning.AttendHeads.From = 17 // prompts expand heads
		s.Class = tt.class
		p := lower.Lower(s, tt.width)
		if err := Compile(p, Options{}); err != nil {
			t.Fatal(err)
		}
		names := map[int][]string{}
		for _, launch := range p.Launches {
			names[launch.Layer] = append(names[launch.Layer], launch.Name())
		}
		if got := names[s.Layers(true)[0]]; !slices.Equal(got[:len(tt.linear)], tt.linear) {
			t.Errorf("seed %d, %d rows: %q, want %q", tt.seed, tt.width, got, tt.linear)
		}
		if got := strings.Join(names[s.Layers(false)[0]], " "); !strings.Contains(got, tt.last) {
			t.Errorf("seed %d, %d rows: %q, want %q in it", tt.seed, tt.width, got, tt.last)
		}
	}
}
