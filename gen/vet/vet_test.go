package vet_test

import (
	"os"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/vet"
)

// TestRules checks that each rule reports its mistake, and nothing in a correct spec.
func TestRules(t *testing.T) {
	data, err := os.ReadFile("../../specs/glm47mini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ok := string(data)
	const yarn = "\n  scaling: {type: yarn, factor: 2, original_max_position_embeddings: 4096}\n"
	theta := ok[strings.Index(ok, "  theta:"):]
	theta = theta[:strings.Index(theta, "\n")]
	for _, tt := range []struct{ rule, text, says string }{
		{"", ok, ""},
		{"same_profiles", strings.Replace(ok, "quants:\n", "quants:\n  - f16\n  - name: mine\n    stock: f16\n", 1), `quant profile "mine" has the types of "f16"`},
		{"same_shape", ok + "\ntuning:\n  kernels:\n    o_proj: {split_k: 2}\n", "kernel o_proj has this shape without the entry"},
		{"", ok + "\ntuning:\n  kernels:\n    o_proj: {simdgroups: 2, split_k: 1}\n", ""},
		{"same_shape", ok + "\nsequences: [1, 2]\ntuning:\n  kernels:\n    o_proj: {simdgroups: 2, split_k: 1}\n    o_proj_x2: {simdgroups: 2}\n", "kernel o_proj_x2 has this shape without the entry"},
		{"same_shape", ok + "\nsequences: [1, 2]\ntuning:\n  devices:\n    nvidia:\n      kernels:\n        o_proj: {simdgroups: 2, split_k: 1}\n        o_proj_x2: {split_k: 1}\n", "kernel o_proj_x2 has this shape without the entry"},
		{"", ok + "\nsequences: [1, 2]\ntuning:\n  kernels:\n    o_proj_x2: {simdgroups: 2, split_k: 1}\n", ""},
		{"long_context", strings.Replace(ok, theta, theta+yarn, 1), "YaRN stretches 4096 positions by 2, to 8192"},
	} {
		s, err := spec.Parse("glm47mini.yaml", []byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		list, err := vet.Look(s)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		if tt.rule == "" {
			if len(list) > 0 {
				t.Errorf("found in a good spec: %v", list)
			}
			continue
		}
		found := false
		for _, f := range list {
			if f.Rule != tt.rule {
				t.Errorf("%s: also %v", tt.rule, f)
			}
			found = found || strings.Contains(f.Text, tt.says)
		}
		if !found {
			t.Errorf("%s: %v; want %q", tt.rule, list, tt.says)
		}
	}
}

// TestRegisters: a model with many heads holds more than any GPU's budget in floats.
func TestRegisters(t *testing.T) {
	s, err := spec.Load("../../specs/more/kimik2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vet.Look(s)
	if err != nil || len(list) == 0 || list[0].Rule != "registers" || !strings.Contains(list[0].Text, "the plain form of attend on a cache of f32 holds") {
		t.Errorf("%v, %v", list, err)
	}
}
