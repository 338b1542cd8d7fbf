package gguf

import (
	"slices"
	"strings"
)

// keyRule says how the program treats a key of the architecture. A key that changes what a model computes is
// read, or the file is refused. Keys that are not in the table make the program refuse the file, too, because
// their effect is unknown.
type keyRule struct {
	name string // without the architecture; a name that ends in "." stands for all keys with this prefix
	use  keyUse
	// why is the reason for which an idle key has no effect, or the feature that a refused key needs.
	why string
}

type keyUse uint8

const (
	read    keyUse = iota // by ReadHParams, if the model has such layers
	idle                  // has no effect, whatever its value
	unless0               // refused unless it is 0, false or empty
	unless1               // refused unless it is 1, which as a factor has no effect
	refused               // refused whatever its value
)

// keyRules lists the keys that llama.cpp (v0.5.0) knows and that are meaningful for a model with multi-head
// latent attention. The code that reads a key also checks its value.
var keyRules = []keyRule{
	{name: "block_count"},
	{name: "context_length"},
	{name: "embedding_length"},
	{name: "feed_forward_length"},
	{name: "leading_dense_block_count"},
	{name: "nextn_predict_layers"},
	{name: "vocab_size"},
	{name: "attention.head_count"},
	{name: "attention.layer_norm_rms_epsilon"},
	{name: "attention.q_lora_rank"},
	{name: "attention.kv_lora_rank"},
	{name: "attention.key_length"},
	{name: "attention.value_length"},
	{name: "attention.key_length_mla"},
	{name: "attention.value_length_mla"},
	{name: "attention.temperature_scale"},
	{name: "attention.temperature_length"},
	{name: "expert_count"},
	{name: "expert_used_count"},
	{name: "expert_shared_count"},
	{name: "expert_feed_forward_length"},
	{name: "expert_gating_func"},
	{name: "expert_weights_norm"},
	{name: "expert_weights_scale"},
	{name: "expert_group_count"},
	{name: "expert_group_used_count"},
	{name: "rope.dimension_count"},
	{name: "rope.freq_base"},
	{name: "rope.scale_linear"},
	{name: "rope.scaling.type"},
	{name: "rope.scaling.factor"},
	{name: "rope.scaling.original_context_length"},
	{name: "rope.scaling.attn_factor"},
	{name: "rope.scaling.yarn_log_multiplier"},

	{"attention.head_count_kv", idle, "the cache is latent: all heads read one row, which the ranks describe"},
	{"rope.scaling.finetuned", idle, "it says how the model was made"},
	{"rope.scaling.yarn_beta_fast", idle, "llama.cpp takes 32 for these architectures, and the reference logits follow it"},
	{"rope.scaling.yarn_beta_slow", idle, "llama.cpp takes 1 for these architectures"},
	{"rope.scaling.yarn_ext_factor", idle, "llama.cpp takes 1 with YaRN and 0 without"},
	{"rope.scaling.yarn_attn_factor", idle, "llama.cpp reads rope.scaling.attn_factor instead"},
	{"pooling_type", idle, "it is for embeddings of texts, which are not computed here"},

	{"attention.scale", unless0, "needs attention with a scale of its own; here it follows from the width of a key"},
	{"attention.output_scale", unless0, "needs a factor on the output of attention"},
	{"attention.value_scale", unless0, "needs a factor on the values of attention"},
	{"attention.clamp_kqv", unless0, "needs clamped queries, keys and values"},
	{"attention.max_alibi_bias", unless0, "needs attention with ALiBi"},
	{"attention.layer_norm_epsilon", unless0, "needs layer norms; here all are RMS norms"},
	{"attention.causal", unless1, "needs attention that sees later tokens too"},
	{"attention.sliding_window", unless0, "needs attention over a sliding window"},
	{"attention.sliding_window_pattern", unless0, "needs attention over a sliding window"},
	{"attention.key_length_swa", unless0, "needs attention over a sliding window"},
	{"attention.value_length_swa", unless0, "needs attention over a sliding window"},
	{"rope.dimension_count_swa", unless0, "needs attention over a sliding window"},
	{"rope.freq_base_swa", unless0, "needs attention over a sliding window"},
	{"attention.indexer.", refused, "needs sparse attention (DSA: an indexer that picks the cache rows of each query)"},
	{"attention.compress_ratios", refused, "needs attention over a compressed cache"},
	{"attention.compress_rope_freq_base", refused, "needs attention over a compressed cache"},
	{"attention.recurrent_layers", refused, "needs layers with linear attention"},
	{"full_attention_interval", refused, "needs layers with linear attention"},
	{"kda.", refused, "needs layers with linear attention (Kimi Delta Attention)"},
	{"ssm.", refused, "needs state-space layers"},
	{"wkv.", refused, "needs layers with linear attention (RWKV)"},
	{"attention.shared_kv_layers", unless0, "needs layers that share a cache"},
	{"attn_logit_softcapping", unless0, "needs a soft cap on the scores of attention"},
	{"router_logit_softcapping", unless0, "needs a soft cap on the router's logits"},
	{"final_logit_softcapping", unless0, "needs a soft cap on the logits"},
	{"logit_scale", unless0, "needs a factor on the logits"},
	{"embedding_scale", unless0, "needs a factor on the embedding"},
	{"residual_scale", unless0, "needs a factor on the residuals"},
	{"embedding_length_out", unless0, "needs an output of another width than the embedding's"},
	{"embedding_length_per_layer_input", unless0, "needs an embedding per layer"},
	{"hidden_activation", refused, "needs to know the activation by another name than its architecture's"},
	{"use_parallel_residual", unless0, "needs attention and feed-forward parts side by side"},
	{"swiglu_clamp_exp", unless0, "needs clamped activations in the experts"},
	{"swiglu_clamp_shexp", unless0, "needs clamped activations in the shared experts"},
	{"expert_shared_feed_forward_length", unless0, "needs shared experts of a width of their own"},
	{"expert_chunk_feed_forward_length", unless0, "needs experts in chunks"},
	{"expert_group_scale", unless0, "needs a factor per group of experts"},
	{"experts_per_group", unless0, "needs another kind of expert groups"},
	{"moe_every_n_layers", unless0, "needs dense layers between those with experts"},
	{"interleave_moe_layer_step", unless0, "needs dense layers between those with experts"},
	{"moe_latent_size", unless0, "needs experts in a latent space"},
	{"hyper_connection.", refused, "needs several residual streams (hyper-connections)"},
	{"hash_layer_count", unless0, "needs experts that are chosen by a hash of the token"},
	{"n_deepstack_layers", unless0, "needs an image encoder"},
	{"deepstack_mapping", refused, "needs an image encoder"},
	{"rope.dimension_sections", refused, "needs rotary angles by several coordinates (images)"},
	{"rope.scaling.alpha", unless0, "needs rotary angles with dynamic NTK scaling"},
	{"classifier.output_labels", refused, "needs a classifier's head"},
	{"decoder_block_count", refused, "needs an encoder and a decoder"},
	{"decoder_start_token_id", refused, "needs an encoder and a decoder"},
}

// ruleOf is the rule for a key; nil: there is none.
func ruleOf(name string) *keyRule {
	i := slices.IndexFunc(keyRules, func(r keyRule) bool {
		return r.name == name || strings.HasSuffix(r.name, ".") && strings.HasPrefix(name, r.name)
	})
	if i < 0 {
		return nil
	}
	return &keyRules[i]
}

// unexpectedKeys refuses the file at the first key of the architecture that changes the model's results in a
// way that is not implemented.
func (r *keyReader) unexpectedKeys() {
	for _, kv := range r.f.Meta {
		name, ours := strings.CutPrefix(kv.Key, r.key(""))
		if !ours {
			continue
		}
		switch rule := ruleOf(name); {
		case slices.Contains(r.of.Keys, name):
		case rule == nil:
			r.failKey(name, "is %.100s; this program does not know the key, which may change what the model computes", kv.Value)
		case !rule.allows(kv.Value) && r.of.Hybrid && ofHybrids(name):
			r.failKey(name, "is %.100s; models of architecture %s are not known to have the key, and nobody knows here what it changes in them", kv.Value, r.arch)
		case !rule.allows(kv.Value):
			r.failKey(name, "is %.100s; a model with it %s, which this program has not", kv.Value, rule.why)
		}
	}
}

// allows says whether a key with this value is read or has no effect.
func (k *keyRule) allows(v Value) bool {
	switch k.use {
	case unless0:
		return v.is(0)
	case unless1:
		return v.is(1)
	}
	return k.use != refused
}

// is says whether v is a number or a truth value equal to x. For an array, all elements have to be.
func (v Value) is(x float64) bool {
	switch kinds[v.kind].class {
	case classUnsigned:
		return float64(number(v.raw, v.kind, 0)) == x
	case classSigned:
		return float64(int64(number(v.raw, v.kind, 0))) == x
	case classFloat:
		return float(v.raw, v.kind, 0) == x
	case classBool:
		return (v.raw[0] != 0) == (x != 0)
	case classArray:
		for _, e := range v.All() {
			if !e.is(x) {
				return false
			}
		}
		return true
	}
	return false
}
