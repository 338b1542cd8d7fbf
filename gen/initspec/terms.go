package initspec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
)

// beside has keys of files for names of a spec that have no key in package hparams.
var beside = map[string]string{
	"num_hidden_layers":                "block_count",
	"num_nextn_predict_layers":         "nextn_predict_layers",
	"scoring_func":                     "expert_gating_func",
	"theta":                            "rope.freq_base",
	"factor":                           "rope.scaling.factor",
	"attn_factor":                      "rope.scaling.attn_factor",
	"mscale_all_dim":                   "rope.scaling.yarn_log_multiplier",
	"original_max_position_embeddings": "rope.scaling.original_context_length",
	"full_attn_layers":                 "attention.head_count_kv",
	"swiglu_limits":                    "swiglu_clamp_exp",
	"swiglu_limits_shared":             "swiglu_clamp_shexp",
}

var specName = regexp.MustCompile(`\b(?:(?:model|moe|rope|rope\.scaling|linear_attn_config)\.)?([a-z]+(?:_[a-z]+)*)\b`)

// inFile translates the mistakes of a spec into the terms of the file that it was made from: keys and
// tensors. The user of the file has never seen the spec.
func inFile(f *gguf.File, h *gguf.HParams, err error) error {
	var list spec.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	arch, _, _ := f.String("general.architecture")
	terms := map[string]string{"tie_word_embeddings": `the tensor "output.weight"`, "selection_bias": `the tensors "exp_probs_b.bias"`}
	for name, key := range beside {
		terms[name] = fmt.Sprintf("key %q", arch+"."+key)
	}
	parts := []any{&h.Dims, &h.MoE}
	if h.Hybrid != nil {
		parts = append(parts, &h.Hybrid.LinearAttention, &h.Hybrid.HybridExperts)
	}
	for _, of := range parts {
		for _, p := range hparams.Parameters(of) {
			if p.Key != "" {
				terms[p.Name] = fmt.Sprintf("key %q", arch+"."+p.Key)
			}
		}
	}
	width := "_mla"
	if h.LegacyKVB {
		width = ""
	}
	terms["v_head_dim"] = fmt.Sprintf("key %q", arch+".attention.value_length"+width)
	terms["qk_nope_head_dim"] = fmt.Sprintf("(key %q less %q)", arch+".attention.key_length"+width, "rope.dimension_count")
	var lines []string
	for _, e := range list {
		lines = append(lines, "  "+specName.ReplaceAllStringFunc(e.Msg, func(word string) string {
			if term := terms[specName.FindStringSubmatch(word)[1]]; term != "" && (strings.ContainsAny(word, "._")) {
				return term
			}
			return word
		}))
	}
	return errors.New("kernels cannot be compiled for this model:\n" + strings.Join(lines, "\n"))
}
