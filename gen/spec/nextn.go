package spec

import (
	"slices"

	"mla/runtime/gguf"
)

// nextNSuffix marks the bundle of a multi-token-prediction layer in its name.
const nextNSuffix = "nextn"

// NextNLayer returns the multi-token-prediction layer of s (DeepSeek-V3, arXiv 2412.19437, section 2.2) as a
// model of one layer. It is compiled to a bundle of its own. The input of that bundle is a vector that the
// host makes of a hidden state of s and of the embedding of the next token.
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

// Predicts reports whether multi-token-prediction layers are known for models like s: models with experts
// that have low-rank queries, or linear attention with a bounded gate.
func (s *Spec) Predicts() bool {
	known := s.Model.QLoraRank > 0
	if s.Hybrid != nil {
		known = gguf.ArchitectureOf(s.Architecture).BoundedGate
	}
	return known && s.MoE != nil && s.Temperature.Scale == 0
}

// OneSource returns the variants whose kernels are printed into one source: a model and its
// multi-token-prediction layer, if it has one. s is one of them.
func (s *Spec) OneSource() []*Spec {
	switch {
	case s.NextN > 0:
		return []*Spec{s.Main, s}
	case s.Model.NumNextNPredictLayers > 0:
		return []*Spec{s, s.NextNLayer()}
	}
	return []*Spec{s}
}

// with returns a copy of s after change, whose Main is changed too.
func (s *Spec) with(change func(*Spec)) *Spec {
	v := *s
	change(&v)
	if s.Main != nil {
		v.Main = s.Main.with(change)
	}
	return &v
}
