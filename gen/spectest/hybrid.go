package spectest

import (
	"math/rand/v2"

	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
)

// Hybrid returns a random hybrid spec: most layers have linear attention, in the manner of Kimi-Linear or of
// Ling-3.0.
func Hybrid(seed uint64) *spec.Spec {
	r := rand.New(rand.NewPCG(seed, 4))
	s := Random(seed)
	s.Rope.Scaling, s.Temperature = nil, plan.Temperature{}
	s.Model.NumHiddenLayers = 2 + r.IntN(2)
	if s.MoE != nil {
		s.MoE.FirstKDenseReplace = min(s.MoE.FirstKDenseReplace, s.Model.NumHiddenLayers-1)
	}
	h := &spec.Hybrid{LinearAttention: hparams.LinearAttention{HeadDim: 32 * (1 + r.IntN(2)), ShortConvKernelSize: 2 + r.IntN(3)},
		FullAttnLayers: []int{r.IntN(s.Model.NumHiddenLayers)}}
	s.Hybrid = h
	if s.Architecture = gguf.KimiLinear; seed%2 > 0 {
		s.Model.QLoraRank = 0
		return s
	}
	s.Architecture, h.GateLowerBound = gguf.BailingMoE3, -5
	if s.MoE != nil {
		h.SharedIntermediateSize = 64
		h.Limits, h.SharedLimits = make([]float64, s.Model.NumHiddenLayers), make([]float64, s.Model.NumHiddenLayers)
		h.Limits[s.Model.NumHiddenLayers-1], h.SharedLimits[s.Model.NumHiddenLayers-1] = 0.1, 0.2
	}
	return s
}

// Hybrids returns n such specs, of both kinds.
func Hybrids(n uint64) (list []*spec.Spec) {
	for seed := range n {
		list = append(list, Hybrid(seed))
	}
	return list
}
