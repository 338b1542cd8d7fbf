package spec

import (
	"os"
	"strings"
	"testing"
)

const ling = specDir + "/more/ling3flash.yaml"

// lingTypes is a spec of Ling-3.0-flash with a type for each role, also of the multi-token prediction layer.
func lingTypes(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(ling)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(ling, data)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "quants:")
	text += "quants:\n  - name: own\n    types:\n"
	for _, r := range roles(s, false) {
		text += "      " + r.name + ": f16\n"
	}
	text += "    nextn_types:\n"
	for _, r := range roles(s.NextNLayer(), false) {
		text += "      " + r.name + ": f16\n"
	}
	return text
}

// TestHybridTypes: the types of a role are those of the layers that have it.
func TestHybridTypes(t *testing.T) {
	text := strings.Replace(lingTypes(t), "linear_attn.q_proj: f16", "linear_attn.q_proj: q8_0 0-4,6; f16", 1)
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	types := s.Quants[0].Types
	for _, rt := range types {
		switch rt.Role {
		case "linear_attn.q_proj":
			if got := FormatTypes(rt.Types, s.Layers(true)); len(rt.Types) != 35 || got != "q8_0 0-4,6; f16" {
				t.Errorf("%d types: %s", len(rt.Types), got)
			}
		case "self_attn.o_proj":
			if len(rt.Types) != 7 {
				t.Errorf("%d types of o_proj", len(rt.Types))
			}
		}
	}
}

// TestHybridMistakes: each has its message, and none leads the roles astray that follow from the layers.
func TestHybridMistakes(t *testing.T) {
	const full = "full_attn_layers: [6, 12, 18, 24, 30, 36, 42]"
	for _, tt := range []struct{ old, bad, want string }{
		{full, "full_attn_layers: []", "expected a list of 1 to 512 numbers"},
		{full, "full_attn_layers: 6", "expected a list of 1 to 512 numbers"},
		{full, "full_attn_layers: [0]", "full_attn_layers is 0; expected an integer from 1 to 512"},
		{full, "full_attn_layers: [12, 6]", "must rise, from 1 to 42 at most"},
		{full, "full_attn_layers: [6, 43]", "must rise, from 1 to 42 at most"},
		{full, "full_attn_layers: [6, 6]", "must rise, from 1 to 42 at most"},
		{"num_hidden_layers: 42", "num_hidden_layers: 1", "must rise, from 1 to 1 at most"},
		{"  head_dim: 128", "  head_dim: 100", "expected a multiple of 32"},
		{"gate_lower_bound: -5", "gate_lower_bound: 0", "has gate_lower_bound 0; of the architectures bailingmoe3 alone"},
		{"gate_lower_bound: -5", "gate_lower_bound: 5", "expected a number from -10000 to 0"},
		{"swiglu_limits: [0, ", "swiglu_limits: [", "has 42 numbers; expected one for each of the 43 layers"},
		{"swiglu_limits: [0, ", "swiglu_limits: [.nan, ", "expected a number from 0 to 1e+06"},
		{"architecture: bailingmoe3", "architecture: deepseek2", "models of architecture deepseek2 have no layers with linear attention"},
		{"linear_attn_config:\n  " + full + "\n  head_dim: 128\n  short_conv_kernel_size: 4\n  gate_lower_bound: -5", "", "expected the key linear_attn_config"},
		{"linear_attn.q_proj: f16", "linear_attn.q_proj: q8_0 5; f16", "layer 5 does not have the role"},
		{"linear_attn.q_proj: f16", "linear_attn.q_proj: q8_0 0-4", "layer 6 has no type"},
		{"self_attn.o_proj: f16", "self_attn.o_proj: q8_0 42; f16", "expected numbers or ranges from 5 to 41"},
		{"num_nextn_predict_layers: 1", "num_nextn_predict_layers: 0", "has 43 numbers; expected one for each of the 42 layers"},
		{"      eh_proj: f16\n", "", "eh_proj"},
	} {
		text := strings.Replace(lingTypes(t), tt.old, tt.bad, 1)
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v; expected %q", tt.bad, err, tt.want)
		}
	}
}
