package spec

import (
	"slices"

	"mla/runtime/gguf"
)

// nextNSuffix is what the name of a bundle says of a layer that predicts.
const nextNSuffix = "nextn"

// NextNLayer is s's layer that predicts the token after next (multi-token prediction,
// DeepSeek-V3, arXiv 2412.19437, section 2.2), as a model of one layer: it is compiled to
// a bundle of its own, which begins with what the host makes of a hidden state of s and
// of the embedding of the token that follows.
func (s *Spec) NextNLayer() *Spec {
	v := *s
	v.Main, v.NextN = s, s.Model.NumHiddenLayers
	v.Model.NumHiddenLayers, v.Model.NumNextNPredictLayers = 1, 0
	if s.MoE != nil {
		moe := *s.MoE
		moe.FirstKDenseReplace = 0
		v.MoE = &moe
	}
	if s.Hybrid != nil {
		v.Hybrid = &Hybrid{LinearAttention: s.Hybrid.LinearAttention, FullAttnLayers: []int{0}, HybridExperts: s.Hybrid.Of(v.NextN, v.NextN+1)}
	}
	v.Quants = slices.Clone(s.Quants)
	for i := range v.Quants {
		v.Quants[i].Types = v.Quants[i].NextN
	}
	v.rename()
	return &v
}

// Predicts says whether layers that predict are known of models such as s: of those with experts, and with queries of
// low rank or linear attention with a bound.
func (s *Spec) Predicts() bool {
	known := s.Model.QLoraRank > 0
	if s.Hybrid != nil {
		known = gguf.ArchitectureOf(s.Architecture).BoundedGate
	}
	return known && s.MoE != nil && s.Temperature.Scale == 0
}

// OneSource are the variants whose kernels are printed as one source: a model and its layer
// that predicts, if it has one. s is one of them.
func (s *Spec) OneSource() []*Spec {
	switch {
	case s.NextN > 0:
		return []*Spec{s.Main, s}
	case s.Model.NumNextNPredictLayers > 0:
		return []*Spec{s, s.NextNLayer()}
	}
	return []*Spec{s}
}

// with is s with what change does to it, and to the model that it is a layer of.
func (s *Spec) with(change func(*Spec)) *Spec {
	v := *s
	change(&v)
	if s.Main != nil {
		v.Main = s.Main.with(change)
	}
	return &v
}
