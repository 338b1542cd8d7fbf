// Package spectest makes small random specs and weights for tests.
package spectest

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// Random returns a small spec in which the seed selects features: low-rank queries or not, dense or MoE
// layers, kinds of gating, YaRN, temperatures, tied heads.
func Random(seed uint64) *spec.Spec {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	s := &spec.Spec{Architecture: gguf.Deepseek2, Name: "random", File: "random.yaml", Tokenizer: "glm4", ChatTemplate: "none", Activations: "f32"}
	s.Model = spec.Model{Title: "random", Dims: spec.Dims{VocabSize: 64 + 16*r.IntN(3), HiddenSize: pick(64, 96, 256), NumHiddenLayers: pick(1, 2, 3), NumAttentionHeads: pick(1, 2, 5), QLoraRank: pick(0, 32, 64),
		KVLoraRank: pick(32, 64), QKNopeHeadDim: pick(32, 64), QKRopeHeadDim: pick(16, 32), VHeadDim: pick(32, 64), IntermediateSize: pick(64, 160),
		MaxPositionEmbeddings: 64, RMSNormEps: 1e-5, TieWordEmbeddings: r.IntN(2) == 0}}
	s.Rope = spec.Rope{Theta: float64(pick(10000, 1000000))}
	if r.IntN(2) == 0 {
		s.Rope.Scaling = &spec.Yarn{Factor: float64(pick(4, 40)), OriginalMaxPositionEmbeddings: pick(64, 4096), AttnFactor: 1,
			MScaleAllDim: []float64{0, 0.707, 1}[r.IntN(3)]}
	}
	if r.IntN(3) == 0 {
		s.Temperature = plan.Temperature{Scale: 0.3, Length: pick(1, 2, 3)}
	}
	if r.IntN(4) == 0 {
		s.Architecture = "mistral4"
	}
	if r.IntN(3) > 0 {
		s.MoE = randomMoE(r, pick, s.Model.NumHiddenLayers)
	}
	s.Tuning = spec.Tuning{MatVec: spec.Shape{RowsPerSimdgroup: 2, Simdgroups: 2}, Attention: spec.Attention{Splits: 4, Tile: 2, Simdgroups: 2}}
	s.Tuning.MatVec.SplitK = pick(1, 2)
	s.Tuning.AttendHeads = spec.AttendHeads{From: 17, RowsPerSimdgroup: 8, Simdgroups: 2, SplitK: 2, Tile: 16}
	if seed%3 == 0 { // prompts attend to latent rows
		s.Tuning.AttendHeads.From = plan.MaxWidth
	}
	s.Quants = []spec.Quant{{Name: "f32", Stock: "f32"}}
	return s
}

func randomMoE(r *rand.Rand, pick func(...int) int, layers int) *spec.MoE {
	m := &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: pick(1, 2, 3), NSharedExperts: pick(0, 1, 2), MoEIntermediateSize: pick(32, 96),
		FirstKDenseReplace: r.IntN(layers + 1), ScoringFunc: []string{"softmax", "sigmoid"}[r.IntN(2)], SelectionBias: r.IntN(2) == 0,
		NormTopKProb: r.IntN(2) == 0, RoutedScalingFactor: []float64{1, 1.8}[r.IntN(2)], NGroup: 1, TopKGroup: 1}
	if r.IntN(3) == 0 {
		m.NGroup, m.TopKGroup = 4, 2
	}
	return m
}

// Weights makes random tensors for a spec, which depend only on their names: norms near 1, small biases,
// matrices with unit gain.
type Weights struct {
	Spec  *spec.Spec
	cache map[string][]float32
}

// Tensor implements interp.Weights.
func (w *Weights) Tensor(role string, layer int) []float32 {
	key := role + "/" + strconv.Itoa(layer)
	if w.cache == nil {
		w.cache = map[string][]float32{}
	}
	if t := w.cache[key]; t != nil {
		return t
	}
	for _, row := range weights.Table(w.Spec) {
		if row.Role == role {
			w.cache[key] = random(w.Spec, key, &row)
		}
	}
	return w.cache[key]
}

func random(s *spec.Spec, key string, row *weights.Row) []float32 {
	h := fnv.New64a()
	h.Write([]byte(key))
	r := rand.New(rand.NewPCG(h.Sum64(), 2))
	t := make([]float32, row.Elems())
	for i := range t {
		switch {
		case row.Role == weights.RouterBias, row.Role == weights.LinearDT:
			t[i] = float32(0.1 * r.NormFloat64())
		case row.Role == weights.LinearA:
			t[i] = float32(0.2 + r.Float64())
			if gguf.ArchitectureOf(s.Architecture).LowRankGates { // files of these architectures have A negated
				t[i] = -t[i]
			}
		case row.Vector:
			t[i] = float32(1 + 0.2*r.NormFloat64())
		default:
			t[i] = float32(r.NormFloat64() / math.Sqrt(float64(row.Cols)))
		}
	}
	return t
}

// As turns a spec into one of a dense architecture.
func As(architecture string, s *spec.Spec) *spec.Spec {
	s.Architecture, s.MoE, s.Rope.Scaling, s.Temperature = architecture, nil, nil, plan.Temperature{}
	if arch := gguf.ArchitectureOf(architecture); arch.FullQuery {
		s.Model.QLoraRank = 0
	} else {
		s.Model.QLoraRank = max(s.Model.QLoraRank, 32)
	}
	s.Model.TieWordEmbeddings = s.Model.TieWordEmbeddings || gguf.ArchitectureOf(architecture).Tied
	return s
}

// Varied returns random specs of all architectures, n of the first.
func Varied(n uint64) []*spec.Spec {
	var list []*spec.Spec
	for seed := range n {
		list = append(list, Random(seed))
	}
	for seed := range max(n/8, 2) {
		list = append(list, As("plm", Random(seed)), As("minicpm3", Random(seed)))
	}
	return list
}
