package spec

import "slices"

// nextNSuffix is what the name of a bundle says of a layer that predicts.
const nextNSuffix = "nextn"

// NextNLayer is s's layer that predicts the token after next (multi-token prediction,
// DeepSeek-V3, arXiv 2412.19437, section 2.2), as a model of one layer: it is compiled to
// a bundle of its own, which begins with what the host makes of a hidden state of s and
// of the embedding of the token that follows.
func (s *Spec) NextNLayer() *Spec {
	v := *s
	v.NextN = s.Model.NumHiddenLayers
	v.Model.NumHiddenLayers, v.Model.NumNextNPredictLayers = 1, 0
	if s.MoE != nil {
		moe := *s.MoE
		moe.FirstKDenseReplace = 0
		v.MoE = &moe
	}
	v.Quants = slices.Clone(s.Quants)
	for i := range v.Quants {
		v.Quants[i].Types = v.Quants[i].NextN
	}
	v.rename()
	return &v
}
