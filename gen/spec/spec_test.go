package spec

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mla/runtime/quant"
)

func readOK(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/ok.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLoad(t *testing.T) {
	s, err := Load("testdata/ok.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "ok" || s.File != "ok.yaml" || len(s.Hash) != 64 {
		t.Errorf("names: %q %q %q", s.Name, s.File, s.Hash)
	}
	wantModel := Model{Title: "Test", Dims: Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 4, NumAttentionHeads: 5, KVLoraRank: 256,
		QKNopeHeadDim: 96, QKRopeHeadDim: 32, VHeadDim: 128, IntermediateSize: 768, MaxPositionEmbeddings: 4096,
		RMSNormEps: 1e-5}}
	if s.Model != wantModel {
		t.Errorf("model\n got %+v\nwant %+v", s.Model, wantModel)
	}
	wantYarn := Yarn{Factor: 40, OriginalMaxPositionEmbeddings: 4096, MScaleAllDim: 0.707, AttnFactor: 1}
	if s.Rope.Theta != 10000 || *s.Rope.Scaling != wantYarn {
		t.Errorf("rope %+v %+v", s.Rope, *s.Rope.Scaling)
	}
	wantMoE := MoE{NRoutedExperts: 8, NumExpertsPerTok: 4, NSharedExperts: 1, MoEIntermediateSize: 256, FirstKDenseReplace: 1,
		ScoringFunc: "sigmoid", SelectionBias: true, NormTopKProb: true, RoutedScalingFactor: 1.8, NGroup: 1, TopKGroup: 1}
	if *s.MoE != wantMoE {
		t.Errorf("moe %+v", *s.MoE)
	}
	wantTuning := Tuning{Attention: Attention{Splits: 132, Tile: 16, Simdgroups: 8}, AttendHeads: AttendHeads{From: 0, RowsPerSimdgroup: 8, Simdgroups: 8, SplitK: 2, Tile: 32}, Kernels: []KernelShape{{Kernel: "lm_head", Shape: Shape{Simdgroups: 2}, File: "testdata/ok.yaml", Line: 59, Column: 5}}}
	if !reflect.DeepEqual(s.Tuning, wantTuning) {
		t.Errorf("tuning %+v", s.Tuning)
	}
	if s.Tokenizer != "glm4" || s.ChatTemplate != "none" || s.Activations != "f32" {
		t.Errorf("%q %q %q", s.Tokenizer, s.ChatTemplate, s.Activations)
	}
}

func TestLoadQuants(t *testing.T) {
	s, err := Load("testdata/ok.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Quant{
		{Name: "q4_k_m", Stock: "q4_k_m"},
		{Name: "q4_0 imatrix", Stock: "q4_0", IMatrix: true},
		{Name: "q8_0 legacy_kv_b", Stock: "q8_0", LegacyKVB: true},
	}
	if !reflect.DeepEqual(s.Quants[:3], want) {
		t.Errorf("stock profiles %+v", s.Quants[:3])
	}
	k := quant.Q4_K
	old := Quant{Name: "old", Stock: "q4_k_m", LegacyKVB: true, Types: []RoleTypes{{"self_attn.kv_b_proj", []quant.Type{k, k, k, k}}}}
	if !reflect.DeepEqual(s.Quants[3], old) {
		t.Errorf("override %+v", s.Quants[3])
	}
	mine := s.Quants[4]
	if len(mine.Types) != 16 || mine.Types[0].Role != "embed_tokens" || len(mine.Types[0].Types) != 1 {
		t.Errorf("explicit %+v", mine)
	}
	for _, rt := range mine.Types {
		if rt.Role == "mlp.experts.down_proj" && !reflect.DeepEqual(rt.Types, []quant.Type{quant.Q6_K, k, quant.Q6_K}) {
			t.Errorf("experts.down_proj %v", rt.Types)
		}
	}
}

// TestMistakes edits the good file in one place. want is the complete message without the file name, or "" if
// the edit is allowed.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"vocab_size: 512", "vocab_sise: 512", "2:3: model lacks the key \"vocab_size\"\n3:3: unknown key in model \"vocab_sise\" (did you mean \"vocab_size\"?)"},
		{"num_hidden_layers: 4", "num_hidden_layers: 4\n  num_nextn_predict_layers: 2", "6:29: model.num_nextn_predict_layers is 2; expected an integer from 0 to 1"},
		{"num_hidden_layers: 4", "num_hidden_layers: 4\n  num_nextn_predict_layers: 1", "6:29: model.num_nextn_predict_layers is 1, which takes moe, q_lora_rank or architecture bailingmoe3, and no temperature: no other model with such a layer is known\n" +
			"39:5: quants: profile \"mine\" has neither stock nor nextn_types, which num_nextn_predict_layers: 1 needs"},
		{"types: {self_attn.kv_b_proj: q4_k}", "nextn_types: {eh_proj: q4_k}", "37:18: quants: nextn_types without num_nextn_predict_layers: 1 in model"},
		{"tokenizer: glm4", "tokenizer: glm5", "28:12: unknown tokenizer \"glm5\" (did you mean \"glm4\"?)"},
		{"tokenizer: glm4", "tokenizer: llama", "28:12: unknown tokenizer \"llama\"; allowed: bailingmoe2, deepseek-llm, deepseek-v3, gigachat, glm4, kanana2, kimi-k2, qwen2, tekken, youtu, sentencepiece"},
		{"tokenizer: glm4", "tokenizer: glm4\nzebra: 1", "29:1: unknown key in the file \"zebra\"; allowed: version, architecture, model, temperature, rope, moe, linear_attn_config, tokenizer, chat_template, activations, sequences, quants, tuning"},
		{"chat_template: none", "chat_template: none\nactivations: f64", "30:14: unknown activations \"f64\"; allowed: f32, f16"},
		{"chat_template: none", "chat_template: none\nactivations: [f32, F16]", "30:20: unknown activations \"F16\" (did you mean \"f16\"?)"},
		{"chat_template: none", "chat_template: none\nactivations: [f16, f32, f16]", "30:25: activations has f16 twice"},
		{"chat_template: none", "chat_template: none\nactivations: [[f16], 16]", "30:15: activations is a list; expected one of f32, f16\n30:22: activations is 16; expected one of f32, f16"},
		{"chat_template: none", "chat_template: none\nactivations: []", "30:14: activations is an empty list; expected f32 or f16"},
		{"chat_template: none", "chat_template: none\nactivations:", "30:13: activations is empty; expected one of f32, f16"},
		{"chat_template: none", "chat_template: none\nsequences: 4", "30:12: sequences is no list of numbers of rows; expected one like [1, 4, 16]"},
		{"chat_template: none", "chat_template: none\nsequences: [2, 4]", "30:13: sequences begins with 2; expected 1, for one token"},
		{"chat_template: none", "chat_template: none\nsequences: [1, 4, 4]", "30:19: sequences has 4 after 4; expected rising numbers"},
		{"chat_template: none", "chat_template: none\nsequences: [1, x]", "30:16: sequences has \"x\"; expected numbers from 1 to 4096"},
		{"chat_template: none", "chat_template: none\nsequences: [1, 99999999999999999999]", "30:16: sequences has \"99999999999999999999\"; expected numbers from 1 to 4096"},
		{"hidden_size: 256", "hidden_size: wide", "4:16: model.hidden_size is the string \"wide\"; expected an integer from 1 to 1048576"},
		{"hidden_size: 256", "hidden_size: 2.5", "4:16: model.hidden_size is 2.5; expected an integer from 1 to 1048576"},
		{"hidden_size: 256", "hidden_size: 99999999999999999999", "4:16: model.hidden_size is 99999999999999999999; expected an integer from 1 to 1048576"},
		{"hidden_size: 256", "hidden_size: -1", "4:16: model.hidden_size is -1; expected an integer from 1 to 1048576"},
		{"hidden_size: 256", "hidden_size: [1]", "4:16: model.hidden_size is a list; expected an integer from 1 to 1048576"},
		{"kv_lora_rank: 256", "kv_lora_rank: 250", "8:17: model.kv_lora_rank is 250; expected a multiple of 32 (the simdgroup)"},
		{"qk_rope_head_dim: 32", "qk_rope_head_dim: 36", "10:21: model.qk_rope_head_dim is 36; expected a multiple of 8 (rotary pairs, and 16 bytes of halves)"},
		{"qk_rope_head_dim: 32", "qk_rope_head_dim: 104", "10:21: model.qk_rope_head_dim is 104, but the rest of a key, qk_nope_head_dim, has only 96"},
		{"num_experts_per_tok: 4", "num_experts_per_tok: 9", "20:24: moe.num_experts_per_tok is 9, more than n_routed_experts, which is 8"},
		{"scoring_func: sigmoid", "scoring_func: sigmoid\n  n_group: 3", "25:12: moe.n_group is 3, which does not divide n_routed_experts, 8"},
		{"scoring_func: sigmoid", "scoring_func: sigmoid\n  n_group: 8", "25:12: moe.n_group is 8, which leaves a group fewer than the 2 experts that it is scored by (n_routed_experts is 8)"},
		{"scoring_func: sigmoid", "scoring_func: sigmoid\n  n_group: 4", "20:24: moe.num_experts_per_tok is 4, more than the experts of the 1 groups that are kept (topk_group)"},
		{"scoring_func: sigmoid", "scoring_func: sigmoid\n  topk_group: 2", "25:15: moe.topk_group is 2, more than n_group, which is 1"},
		{"first_k_dense_replace: 1", "first_k_dense_replace: 4", "23:26: moe.first_k_dense_replace is 4, which leaves none of the 4 layers to experts; leave out moe for a dense model"},
		{"num_attention_heads: 5", "num_attention_heads: 512", "6:24: attention keeps 512 sums in the registers of a thread; expected at most 256: more tuning.attention.simdgroups share the work\n" +
			"6:24: attention keeps 576 floats of queries in the registers of a thread; expected at most 256: more tuning.attention.simdgroups share the work"},
		{"kv_lora_rank: 256", "kv_lora_rank: 8192", "6:24: attention keeps 257 floats of queries in the registers of a thread; expected at most 256: more tuning.attention.simdgroups share the work\n" +
			"8:17: attention takes 33136 bytes of threadgroup memory; expected at most 32768: a smaller kv_lora_rank, fewer heads or fewer tuning.attention.simdgroups fit\n" +
			"8:17: the combine of the splits takes 33408 bytes of threadgroup memory; expected at most 32768: fewer tuning.attention.splits fit"},
		{"n_routed_experts: 8", "n_routed_experts: 4096", "19:21: the choice of experts takes 33956 bytes of threadgroup memory; expected at most 32768: fewer experts fit"},
		{"lm_head: {simdgroups: 2}", "lm_head: {simdgroups: 40}", "59:27: tuning.kernels.lm_head.simdgroups is 40; expected an integer from 1 to 32"},
		{"rms_norm_eps: 1e-5", "rms_norm_eps: .nan", "14:17: model.rms_norm_eps is .nan; expected a number from 1e-12 to 0.1"},
		{"norm_topk_prob: true", "norm_topk_prob: 1", "26:19: moe.norm_topk_prob is 1; expected true or false"},
		{"title: Test", "title: 5", "2:10: model.title is 5; expected a string of 1 to 200 bytes on one line"},
		{"title: Test", "title: &a Test", "2:10: anchors (&) and aliases (*) are not allowed"},
		{"title: Test", "title: T\n  title: U", "3:3: key \"title\" appears twice in model"},
		{"type: yarn", "type: linear", "17:19: unknown rope.scaling.type \"linear\"; allowed: yarn"},
		{"- q4_k_m", "- q4_k_x", "31:5: quants: unknown quant profile \"q4_k_x\" (did you mean \"q4_k_m\"?)"},
		{"- q4_k_m", "- q4_k", "31:5: quants: unknown quant profile \"q4_k\" (did you mean \"q4_k_m\"?)"},
		{"- q4_k_m", "- q4_k_m imatrx", "31:5: quants: unknown word after q4_k_m \"imatrx\" (did you mean \"imatrix\"?)"},
		{"- q4_k_m", "- q4_k_m\n  - q4_k_m", "32:5: quants has two profiles called \"q4_k_m\""},
		{"- q4_k_m", "- {imatrix: true}", "31:5: quants: a profile lacks the key \"stock\" or \"types\""},
		{"k_b_proj: q5_0", "k_b_proj: q4_k", "43:27: types of self_attn.k_b_proj: q4_k has blocks of 256 elements, which do not divide the rows of 96"},
		{"k_b_proj: q5_0", "k_b_proj: q5_9", "43:27: types of self_attn.k_b_proj: unknown quant type \"q5_9\" (did you mean \"q5_0\"?)"},
		{"      lm_head: q6_k\n", "", "40:7: types of profile \"mine\" lack the role \"lm_head\""},
		{"lm_head: q6_k", "lm_haed: q6_k", "40:7: types of profile \"mine\" lack the role \"lm_head\"\n55:7: unknown role in types \"lm_haed\" (did you mean \"lm_head\"?)"},
		{"lm_head: q6_k", "lm_head: q6_k 0", "55:16: types of lm_head: \"0\": the role is in no layer; expected a type alone"},
		{"q6_k 1,3; q4_k", "q6_k 0,3; q4_k", "51:30: types of mlp.experts.down_proj: layers \"0\"; expected numbers or ranges from 1 to 3"},
		{"q6_k 1,3; q4_k", "q6_k 1,4; q4_k", "51:30: types of mlp.experts.down_proj: layers \"4\"; expected numbers or ranges from 1 to 3"},
		{"q6_k 1,3; q4_k", "q6_k 1-999999999999; q4_k", "51:30: types of mlp.experts.down_proj: layers \"1-999999999999\"; expected numbers or ranges from 1 to 3"},
		{"q6_k 1,3; q4_k", "q6_k 1; q4_k 2", "51:30: types of mlp.experts.down_proj: layer 3 has no type"},
		{"q6_k 1,3; q4_k", "q6_k 1-2; q4_k 2-3", "51:30: types of mlp.experts.down_proj: layer 2 has two types"},
		{"q6_k 1,3; q4_k", "q6_k; q4_k 2-3", "51:30: types of mlp.experts.down_proj: \"q6_k\" names no layers; only the last run may stand for all the others"},
		{"lm_head: {simdgroups: 2}", "lm_head: {simdgroups: 4, split_k: 3}", "59:39: tuning.kernels.lm_head.split_k is 3; expected a divisor of simdgroups, 4"},
		{"lm_head: {simdgroups: 2}", "lm_head: {unroll: 17}", "59:23: tuning.kernels.lm_head.unroll is 17; expected an integer from 1 to 16"},
		{"lm_head: {simdgroups: 2}", "lm_head: {unroll: 0}", "59:23: tuning.kernels.lm_head.unroll is 0; expected an integer from 1 to 16"},
		{"attention: {tile: 16}", "last_blocks: true", "57:3: tuning has no key \"last_blocks\" any more: a dispatch of its own was as quick or quicker; delete it"},
		{"attention: {tile: 16}", "attend_heads: {shares: 2}", "57:18: tuning.attend_heads has no key \"shares\" any more: how many share the pages of a head follows from its sizes; delete it"},
		{"attention: {tile: 16}", "devices: {nvidia: {attend_rows: {queries: 8}}}", "57:22: tuning.devices.nvidia has no key \"attend_rows\" any more: attention of prompts cuts the cache, or expands heads; delete it"},
		{"lm_head: {simdgroups: 2}", "lm_head: {rows_per_simdgroup: 3}", "59:35: tuning.kernels.lm_head.rows_per_simdgroup is 3; expected an even number"},
		{"lm_head: {", "LM-head: {", "59:5: tuning.kernels: \"LM-head\" is no kernel name or appears twice; expected lower-case letters, digits and _"},
		{"tokenizer: glm4", "tokenizer: [glm4", "27:1: not valid YAML: did not find expected ',' or ']'"},
		{"tokenizer: glm4", "tokenizer: glm4\n---\na: 1", "29:1: the file holds a second document; expected one"},
		{"num_hidden_layers: 4\n  num_attention_heads: 5\n  q_lora_rank: null", "num_hidden_layers: 27\n  num_attention_heads: 5\n  q_lora_rank: 64",
			"7:16: model.q_lora_rank is 64, but files of 27 layers are read as DeepSeek-V2-Lite, which has none; expected null\n" +
				"40:7: types of profile \"mine\" lack the role \"self_attn.q_a_proj\"\n40:7: types of profile \"mine\" lack the role \"self_attn.q_b_proj\"\n" +
				"41:7: unknown role in types \"self_attn.q_proj\" (did you mean \"self_attn.o_proj\"?)\n" +
				"54:37: types of mlp.shared_experts.down_proj: layer 4 has no type"},
		{"tuning:", "tuning:\n  devices: {nvdia: {}}", "57:13: unknown key in tuning.devices \"nvdia\" (did you mean \"nvidia\"?)"},
		{"tuning:", "tuning:\n  devices: {nvidia: 3}", "57:21: tuning.devices.nvidia is 3; expected a mapping with the keys attention, attend_heads, kernels, device, date, gain, why, sequences"},
		{"tuning:", "tuning:\n  devices: {nvidia: {kernels: {down: {split_k: 33}}}}", "57:48: tuning.devices.nvidia.kernels.down.split_k is 33; expected an integer from 1 to 32"},
		{"tuning:", "tuning:\n  devices: {apple: {kernels: {lm_head: {split_k: 3}}}}", "57:50: tuning.devices.apple.kernels.lm_head.split_k is 3; expected a divisor of simdgroups, 2"},
		{"tuning:", "tuning:\n  devices: {apple: {kernels: {lm_head: {simdgroups: 3, split_k: 2}}}}", "57:65: tuning.devices.apple.kernels.lm_head.split_k is 2; expected a divisor of simdgroups, 3"},
		{"simdgroups: 2}", "simdgroups: 2, split_k: 2}\n  devices: {apple: {kernels: {lm_head: {simdgroups: 5}}}}", "60:53: tuning.devices.apple.kernels.lm_head.split_k is 2; expected a divisor of simdgroups, 5"},
		{"simdgroups: 2}", "simdgroups: 3, split_k: 2}\n  devices: {apple: {kernels: {lm_head: {simdgroups: 3}}}}", "59:39: tuning.kernels.lm_head.split_k is 2; expected a divisor of simdgroups, 3"},
		{"q_lora_rank: null", "q_lora_rank:", ""},
		{"theta: 10000", "theta: 1e4", ""},
	} {
		good := readOK(t)
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := Parse("dir/x.yaml", []byte(bad))
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), "dir/x.yaml:", "")
		}
		if got != c.want {
			t.Errorf("%q -> %q:\n got %s\nwant %s", c.old, c.new, got, c.want)
		}
	}
}

// TestManyMistakes holds that mistakes are reported together, sorted, and that
// the message stops after twenty.
func TestManyMistakes(t *testing.T) {
	data := readOK(t) + strings.Repeat("no: 1\n", 30)
	data = strings.Replace(data, "vocab_size: 512", "vocab_size: 0", 1)
	_, err := Parse("x.yaml", []byte(data))
	var list ErrorList
	if !errors.As(err, &list) || len(list) != 31 || list[0].Line != 4-1 {
		t.Fatalf("got %v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || lines[20] != "… and 11 more" {
		t.Errorf("message has %d lines: %s", len(lines), lines[len(lines)-1])
	}
}

func TestHostileFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'k'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+",", 9) + "]\n"
	}
	for name, data := range map[string]string{
		"empty": "", "comment": "# x\n", "null": "null\n", "list": "- 1\n", "scalar": "x", "bomb": bomb,
		"deep":  strings.Repeat("[", 9000),
		"deep2": strings.Repeat("a: {", 3000),
		"large": strings.Repeat("# comment\n", 1<<15),
		"nul":   "model: \x00", "utf8": "model: \xff\xfe", "tag": "model: !!binary aGk=",
		"merge": "model: {<<: {a: 1}}",
	} {
		if s, err := Parse("x.yaml", []byte(data)); err == nil || s != nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestName(t *testing.T) {
	for file, want := range map[string]string{
		"specs/youtu2b.yaml": "youtu2b", "foo-bar.q4.yaml": "foobarq4", "7b.yml": "m7b", "GLM_4.7.yaml": "glm47",
		"type.yaml": "typemodel", "main.yaml": "mainmodel", "init.yaml": "initmodel", "bundles.yaml": "bundlesmodel", "é.yaml": "m", ".yaml": "m", "plain": "plain",
	} {
		if got := Name(file); got != want {
			t.Errorf("Name(%q) = %q; want %q", file, got, want)
		}
	}
}

func TestFormatTypes(t *testing.T) {
	a, b := quant.Q4_K, quant.Q6_K
	for want, types := range map[string][]quant.Type{
		"q4_k":                {a, a, a},
		"q6_k 1-2,4; q4_k":    {b, b, a, b, a, a, a},
		"q6_k 3; q4_k":        {a, a, b, a},
		"q4_k 2; q6_k 1; f16": {b, a, quant.F16, quant.F16},
	} {
		if want == "q4_k 2; q6_k 1; f16" {
			want = "q6_k 1; q4_k 2; f16"
		}
		if got := FormatTypes(types, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}[:len(types)]); got != want {
			t.Errorf("FormatTypes(%v) = %q; want %q", types, got, want)
		}
	}
}

// FuzzParse checks that no input panics, and that an accepted spec has a type for each of its layers.
func FuzzParse(f *testing.F) {
	f.Add([]byte(readOK(f)))
	hybrid := lingTypes(f)
	f.Add([]byte(hybrid))
	f.Add([]byte(strings.Replace(hybrid, "num_nextn_predict_layers: 1", "num_nextn_predict_layers: 0", 1)))
	f.Add([]byte("model: {a: *x}\nquants: [q4_0, {types: {}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x.yaml", data)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("empty message")
			}
			return
		}
		for _, q := range s.Quants {
			for _, rt := range q.Types {
				for _, typ := range rt.Types {
					if _, ok := quant.Lookup(typ); !ok {
						t.Fatalf("%s: type %d", rt.Role, typ)
					}
				}
			}
		}
	})
}
