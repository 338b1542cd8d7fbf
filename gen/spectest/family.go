package spectest

import (
	"math/rand/v2"

	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// Family returns a small random spec of one of the published families, with sizes that no published model
// has. Its vocabulary is large enough for package synth, and many of its widths force a stock quantiser to
// use other types.
func Family(seed uint64) *spec.Spec {
	d := dice{rand.New(rand.NewPCG(seed, 3))}
	s := &spec.Spec{Architecture: gguf.Deepseek2, Name: "family", File: "family.yaml", ChatTemplate: "none", Activations: "f32"}
	s.Model = spec.Model{Title: "family", Dims: spec.Dims{VocabSize: d.pick(273, 301, 384), HiddenSize: d.pick(96, 160, 256, 288, 512), NumHiddenLayers: d.pick(1, 2, 3), NumAttentionHeads: d.pick(1, 2, 3, 5, 8), KVLoraRank: d.pick(32, 96, 256, 512),
		QKNopeHeadDim: d.pick(48, 64, 96, 128), QKRopeHeadDim: d.pick(16, 24, 32, 48), VHeadDim: d.pick(32, 40, 64, 128, 256), IntermediateSize: d.pick(96, 256, 352), MaxPositionEmbeddings: 64,
		RMSNormEps: d.float(1e-6, 1e-5)}}
	s.Rope.Theta = d.float(10000, 1000000, 1600000)
	families[d.IntN(len(families))](d, s)
	s.Tuning = spec.Tuning{MatVec: spec.Shape{RowsPerSimdgroup: 4, Simdgroups: 4}, Attention: spec.Attention{Splits: 32, Tile: 16, Simdgroups: 8}}
	s.Tuning.MatVec.SplitK = d.pick(1, 2, 4)
	return s
}

// families turn a spec into one of the kind of Youtu-LLM, DeepSeek-V2-Lite, GLM-4.7-Flash, Mistral Large 3,
// PLM, MiniCPM3 or Mistral Small 4.
var families = []func(d dice, s *spec.Spec){
	func(d dice, s *spec.Spec) {
		s.Tokenizer = "youtu"
		s.Model.QLoraRank = d.pick(32, 96, 256)
		s.Model.TieWordEmbeddings = d.pick(0, 1, 1) == 1
	},
	func(d dice, s *spec.Spec) {
		s.Tokenizer = "deepseek-llm"
		s.Rope.Scaling = &spec.Yarn{Factor: d.float(1, 2.5, 40), OriginalMaxPositionEmbeddings: d.pick(16, 64, 4096),
			MScaleAllDim: d.float(0, 0.707, 1), AttnFactor: d.float(1, 1, 1.25)}
		s.MoE = d.experts(s.Model.NumHiddenLayers)
		s.MoE.ScoringFunc = "softmax"
	},
	func(d dice, s *spec.Spec) {
		s.Tokenizer = "glm4"
		s.Model.QLoraRank = d.pick(0, 64, 256)
		s.MoE = d.experts(s.Model.NumHiddenLayers)
		s.MoE.ScoringFunc, s.MoE.SelectionBias, s.MoE.NormTopKProb = "sigmoid", d.pick(0, 1) == 1, true
		s.MoE.RoutedScalingFactor = 1.8
	},
	func(d dice, s *spec.Spec) { mistral(d, s) },
	func(d dice, s *spec.Spec) {
		s.Architecture, s.Tokenizer, s.Model.TieWordEmbeddings = "plm", "qwen2", true
	},
	func(d dice, s *spec.Spec) {
		s.Architecture, s.Tokenizer, s.Model.QLoraRank = "minicpm3", spec.SentencePiece, d.pick(32, 96, 256)
		s.Model.VocabSize = 384 // bytes and characters
		s.Model.TieWordEmbeddings = d.pick(0, 1) == 1
	},
	func(d dice, s *spec.Spec) {
		mistral(d, s)
		s.Architecture, s.MoE.FirstKDenseReplace = "mistral4", 0
	},
}

func mistral(d dice, s *spec.Spec) {
	s.Tokenizer = "tekken"
	s.Model.QLoraRank = d.pick(32, 96, 256)
	s.Rope.Scaling = &spec.Yarn{Factor: d.float(36, 128), OriginalMaxPositionEmbeddings: d.pick(16, 8192), MScaleAllDim: d.float(0, 0.5, 1), AttnFactor: 1}
	s.Temperature = plan.Temperature{Scale: d.float(0, 0.1), Length: d.pick(1, 3)}
	if s.Temperature.Scale == 0 {
		s.Temperature.Length = 0
	}
	s.MoE = d.experts(s.Model.NumHiddenLayers)
	s.MoE.ScoringFunc = "softmax"
}

type dice struct{ *rand.Rand }

func (d dice) pick(of ...int) int          { return of[d.IntN(len(of))] }
func (d dice) float(of ...float64) float64 { return of[d.IntN(len(of))] }

// experts returns a MoE in which at least the last layer has experts.
func (d dice) experts(layers int) *spec.MoE {
	m := &spec.MoE{NRoutedExperts: d.pick(6, 8, 12), NumExpertsPerTok: d.pick(1, 2, 3, 4), NSharedExperts: d.pick(0, 1, 2),
		MoEIntermediateSize: d.pick(32, 96, 256), FirstKDenseReplace: d.IntN(layers), NormTopKProb: d.pick(0, 1) == 1,
		RoutedScalingFactor: d.float(1, 1, 2.5), NGroup: 1, TopKGroup: 1}
	if d.IntN(3) == 0 {
		m.NGroup, m.TopKGroup = d.pick(2, 3), 2
		m.NRoutedExperts = m.NGroup * d.pick(2, 4)
	}
	return m
}
