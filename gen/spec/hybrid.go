package spec

import (
	"slices"

	"gopkg.in/yaml.v3"

	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
)

// Layers lists the layers of a hybrid model that have linear attention, or if linear is false those with
// multi-head latent attention. The list is never nil.
func (s *Spec) Layers(linear bool) []int {
	list := []int{}
	for i := range s.Model.NumHiddenLayers {
		if s.Hybrid.Linear(i) == linear {
			list = append(list, i)
		}
	}
	return list
}

// LinearWidth returns the number of elements of the queries of all linear-attention heads. Keys and values
// have the same number.
func (s *Spec) LinearWidth() int { return s.Model.NumAttentionHeads * s.Hybrid.HeadDim }

// SharedWidth returns the intermediate size of all shared experts as one; 0 if there are none.
func (s *Spec) SharedWidth() int {
	if s.Hybrid != nil && s.Hybrid.SharedIntermediateSize > 0 && s.MoE.NSharedExperts > 0 {
		return s.Hybrid.SharedIntermediateSize
	}
	return s.MoE.MoEIntermediateSize * s.MoE.NSharedExperts
}

// maxLayers bounds the lists that have a number for each layer.
const maxLayers = 512

func linearFields(h *Hybrid) []field {
	return slices.Concat([]field{list("full_attn_layers", 1, func(key string, i int) field {
		h.FullAttnLayers = append(h.FullAttnLayers, 0)
		return integer(key, &h.FullAttnLayers[i], 1, maxLayers)
	})}, parameters(&h.LinearAttention))
}

// expertFields are the keys of moe that only hybrid models have.
func expertFields(e *hparams.HybridExperts) []field {
	limits := func(key string, dst *[]float64) field {
		return optional(nullable(list(key, 1, func(key string, i int) field {
			*dst = append(*dst, 0)
			return number(key, &(*dst)[i], 0, 1e6)
		})))
	}
	return append(parameters(e), limits("swiglu_limits", &e.Limits), limits("swiglu_limits_shared", &e.SharedLimits))
}

// list is a key with a list of at least least elements. element returns the field that decodes the i-th.
func list(key string, least int, element func(key string, i int) field) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		if n.Kind != yaml.SequenceNode || len(n.Content) < least || len(n.Content) > maxLayers {
			d.errorf(n, "%s is %s; expected a list of %d to %d numbers", path, describe(n), least, maxLayers)
			return false
		}
		ok := true
		for i, e := range n.Content {
			ok = element(key, i).decode(d, e, path) && ok
		}
		return ok
	}}
}

// hybrid finishes the hybrid part of a spec: it makes layer numbers begin at 0, and copies the keys that
// stand in moe to s.Hybrid.
func (d *decoder) hybrid(s *Spec) {
	if s.Hybrid == nil {
		return
	}
	for i := range s.Hybrid.FullAttnLayers {
		s.Hybrid.FullAttnLayers[i]--
	}
	s.Hybrid.HybridExperts = s.experts
}

// hybridRelations are the rules for hybrid models and for the keys that only they have.
var hybridRelations = []relation{
	{"architecture", nil,
		func(s *Spec) bool { return s.Hybrid == nil && gguf.ArchitectureOf(s.Architecture).Hybrid },
		"is %s, whose models have layers with linear attention; expected the key linear_attn_config",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"linear_attn_config", nil,
		func(s *Spec) bool { return !gguf.ArchitectureOf(s.Architecture).Hybrid },
		"is given, but models of architecture %s have no layers with linear attention",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"linear_attn_config.full_attn_layers", []string{"model.num_hidden_layers"},
		func(s *Spec) bool {
			full := s.Hybrid.FullAttnLayers
			return !slices.IsSorted(full) || len(slices.Compact(slices.Clone(full))) < len(full) || full[len(full)-1] >= s.Model.NumHiddenLayers || len(full) == s.Model.NumHiddenLayers
		},
		"must rise, from 1 to %d at most, and leave a layer to linear attention",
		func(s *Spec) []any { return []any{s.Model.NumHiddenLayers} }},
	{"linear_attn_config", nil,
		func(s *Spec) bool {
			return s.Hybrid != nil && gguf.ArchitectureOf(s.Architecture).BoundedGate != (s.Hybrid.GateLowerBound < 0)
		},
		"has gate_lower_bound %g; of the architectures bailingmoe3 alone has a bound, below 0",
		func(s *Spec) []any { return []any{s.Hybrid.GateLowerBound} }},
	limitsOfAll("moe.swiglu_limits", func(e *hparams.HybridExperts) []float64 { return e.Limits }),
	limitsOfAll("moe.swiglu_limits_shared", func(e *hparams.HybridExperts) []float64 { return e.SharedLimits }),
	{"moe", nil,
		func(s *Spec) bool {
			e := &s.experts
			return s.Hybrid == nil && (e.SharedIntermediateSize > 0 || e.Limits != nil || e.SharedLimits != nil)
		},
		"has keys that only hybrid models have; models of architecture %s are none",
		func(s *Spec) []any { return []any{s.Architecture} }},
}

// limitsOfAll is the rule that a list has one number for each layer, multi-token-prediction layers included.
func limitsOfAll(path string, of func(*hparams.HybridExperts) []float64) relation {
	layers := func(s *Spec) int { return s.Model.NumHiddenLayers + s.Model.NumNextNPredictLayers }
	return relation{path, []string{"model.num_hidden_layers"},
		func(s *Spec) bool { n := len(of(&s.experts)); return n > 0 && n != layers(s) },
		"has %d numbers; expected one for each of the %d layers",
		func(s *Spec) []any { return []any{len(of(&s.experts)), layers(s)} }}
}
