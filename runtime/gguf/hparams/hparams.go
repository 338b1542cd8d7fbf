// Package hparams has the hyper-parameters that files, specs and bundles share, one field each. A field's
// tags are its name in the Hugging Face configuration and in specs (hf), its key in a GGUF file without the
// architecture (gguf; none if it follows from several keys), its allowed values (range, or names), and
// whether specs may omit it (spec).
package hparams

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Dims is the dimensions, in numbers of elements. Upper bounds are far above any known model, and keep the
// number of elements of any tensor below 2^53.
type Dims struct {
	VocabSize             int     `hf:"vocab_size" gguf:"vocab_size" range:"1 16777216"`
	HiddenSize            int     `hf:"hidden_size" gguf:"embedding_length" range:"1 1048576"`
	NumHiddenLayers       int     `hf:"num_hidden_layers" range:"1 512"` // without MTP layers
	NumAttentionHeads     int     `hf:"num_attention_heads" gguf:"attention.head_count" range:"1 1024"`
	QLoraRank             int     `hf:"q_lora_rank" gguf:"attention.q_lora_rank" range:"0 1048576" spec:"nullable"` // 0: queries have no low-rank factor
	KVLoraRank            int     `hf:"kv_lora_rank" gguf:"attention.kv_lora_rank" range:"1 1048576"`
	QKNopeHeadDim         int     `hf:"qk_nope_head_dim" range:"1 1048576"`
	QKRopeHeadDim         int     `hf:"qk_rope_head_dim" gguf:"rope.dimension_count" range:"1 1048576"`
	VHeadDim              int     `hf:"v_head_dim" range:"1 1048576"`
	IntermediateSize      int     `hf:"intermediate_size" gguf:"feed_forward_length" range:"1 1048576"` // of dense feed-forward layers
	MaxPositionEmbeddings int     `hf:"max_position_embeddings" gguf:"context_length" range:"1 1073741824"`
	RMSNormEps            float64 `hf:"rms_norm_eps" gguf:"attention.layer_norm_rms_epsilon" range:"1e-12 0.1"`
	TieWordEmbeddings     bool    `hf:"tie_word_embeddings" spec:"optional"` // the head is the embedding
}

// MoE is the mixture of experts. NRoutedExperts is 0 if every layer is dense.
type MoE struct {
	NRoutedExperts      int     `hf:"n_routed_experts" gguf:"expert_count" range:"1 4096"`
	NumExpertsPerTok    int     `hf:"num_experts_per_tok" gguf:"expert_used_count" range:"1 32"`
	NSharedExperts      int     `hf:"n_shared_experts" gguf:"expert_shared_count" range:"0 256"`
	MoEIntermediateSize int     `hf:"moe_intermediate_size" gguf:"expert_feed_forward_length" range:"1 1048576"`
	FirstKDenseReplace  int     `hf:"first_k_dense_replace" gguf:"leading_dense_block_count" range:"0 512"` // layers before this one are dense
	ScoringFunc         string  `hf:"scoring_func" names:"softmax sigmoid"`
	SelectionBias       bool    `hf:"selection_bias" spec:"optional"` // a bias that is added to the scores for the selection only; Hugging Face's e_score_correction_bias
	NormTopKProb        bool    `hf:"norm_topk_prob" gguf:"expert_weights_norm" spec:"optional"`
	RoutedScalingFactor float64 `hf:"routed_scaling_factor" gguf:"expert_weights_scale" range:"0 1e6" spec:"optional"` // 0 and 1: no scaling
	NGroup              int     `hf:"n_group" gguf:"expert_group_count" range:"1 4096" spec:"optional"`                // 1: no groups
	TopKGroup           int     `hf:"topk_group" gguf:"expert_group_used_count" range:"1 4096" spec:"optional"`
}

// Distinct is the expected number of different experts that a number of rows select, if each row selects k of
// E experts at random: E (1 - (1 - k/E)^rows).
func (m *MoE) Distinct(k, rows int) float64 {
	if rows <= 1 || m.NRoutedExperts == 0 {
		return float64(k)
	}
	all := float64(m.NRoutedExperts)
	return all * (1 - math.Pow(1-float64(k)/all, float64(rows)))
}

// Parameter is a field and the contents of its tags.
type Parameter struct {
	Name     string // the Hugging Face name
	Key      string // in a GGUF file, without the architecture; "": it has no key of its own
	Lo, Hi   float64
	Names    []string // the allowed values of a string
	Optional bool     // specs may omit it
	Nullable bool     // specs may omit it, or have null in place of 0
	Value    any      // *int, *float64, *bool or *string: the field
}

// Parameters lists the fields with tags of a *Dims, a *MoE or a part of a Hybrid, in order; if names are
// given, only those. It panics for an unknown name or malformed tags, which are programming errors.
func Parameters(of any, names ...string) []Parameter {
	v := reflect.ValueOf(of).Elem()
	var list []Parameter
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if tag.Get("hf") == "" {
			continue // a list, which is read separately
		}
		p := Parameter{Name: tag.Get("hf"), Key: tag.Get("gguf"), Names: strings.Fields(tag.Get("names")), Value: v.Field(i).Addr().Interface()}
		p.Nullable = tag.Get("spec") == "nullable"
		p.Optional = p.Nullable || tag.Get("spec") == "optional"
		if bounds := strings.Fields(tag.Get("range")); len(bounds) == 2 {
			p.Lo, p.Hi = number(bounds[0]), number(bounds[1])
		}
		if len(names) == 0 || slices.Contains(names, p.Name) {
			list = append(list, p)
		}
	}
	if len(names) > 0 && len(list) != len(names) {
		panic(fmt.Sprintf("hparams: not all of %v are fields of %T", names, of))
	}
	return list
}

func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("hparams: " + err.Error())
	}
	return x
}
