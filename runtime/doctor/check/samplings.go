package check

import (
	"math"
	"math/rand/v2"

	"mla/runtime/text/sample"
)

// samplings returns parameters that take every path of the sampler. The least and the greatest random number
// draw the first and the last token that can be drawn, exactly at the edge.
func samplings(vocab int) []sample.Params {
	seedOfLeast, seedOfGreatest := seedOf(0, 0), seedOf(math.MaxUint64, 0)
	_, random := edgeOf(vocab)
	hot := sample.Off()
	hot.Temperature, hot.Seed = 1, 7
	list := []sample.Params{sample.Off(), hot}
	for _, change := range []func(p *sample.Params){
		func(p *sample.Params) { p.Temperature, p.TopK, p.TopP, p.MinP = 0.8, 40, 0.95, 0.05 },
		func(p *sample.Params) { p.TopK = 1 },
		func(p *sample.Params) { p.TopK, p.Temperature = 7, 1e4 },
		func(p *sample.Params) { p.TopK = vocab + 1 },
		func(p *sample.Params) { p.TopK, p.Temperature = vocab-1, 1e3 },
		func(p *sample.Params) { p.TopP = 0.9 },
		func(p *sample.Params) { p.TopP, p.Temperature = 1e-30, 100 },
		func(p *sample.Params) { p.TopP, p.TopK, p.Temperature = 0.5, 300, 3 },
		func(p *sample.Params) { p.TopP, p.MinP, p.Temperature = 0.999, 1e-6, 10 },
		func(p *sample.Params) { p.MinP = 0.2 },
		func(p *sample.Params) { p.MinP = 1 },
		func(p *sample.Params) { p.Seed = seedOfLeast },
		func(p *sample.Params) { p.Seed = seedOfGreatest },
		func(p *sample.Params) { p.TopK, p.Seed = 20, seedOfLeast },
		func(p *sample.Params) { p.MinP, p.Seed = 1, seedOfLeast },   // the blocks before the best token have no weight
		func(p *sample.Params) { p.Seed = seedOf(random, allEqual) }, // a text draws once with each kind of logits
		func(p *sample.Params) { p.Temperature = 1e-4 },
		func(p *sample.Params) { p.Temperature, p.RepeatPenalty, p.RepeatLastN = 0, 1.3, -1 },
		func(p *sample.Params) {
			p.RepeatPenalty, p.PresencePenalty, p.FrequencyPenalty, p.RepeatLastN = 1.1, 0.3, 0.7, 5
		},
		func(p *sample.Params) { p.TopK, p.RepeatPenalty, p.FrequencyPenalty = 20, 0.5, -1.5 },
		func(p *sample.Params) { p.PresencePenalty, p.FrequencyPenalty, p.TopP = 3e38, 3e38, 0.8 },
		func(p *sample.Params) {
			p.LogitBias = map[int32]float32{0: 3, 1: float32(math.Inf(-1)), 5: 100, 17: -3, 1 << 30: 5}
			p.TopK = 3
		},
	} {
		p := hot
		change(&p)
		list = append(list, p)
	}
	return list
}

// allEqual is the entry of logitKinds that gives all tokens the same weight.
const allEqual = 7

// logitKinds fill logits: like a model's, close to each other, none positive, with many ties, with NaNs and
// extremes, huge, tiny, all equal, and almost all -Inf.
var logitKinds = []func(rng *rand.Rand, x []float32){
	each(func(rng *rand.Rand) float64 { return 5 * rng.NormFloat64() }),
	each(func(rng *rand.Rand) float64 { return 0.01 * rng.NormFloat64() }),
	each(func(rng *rand.Rand) float64 { return -0.9 * rng.Float64() }),
	each(func(rng *rand.Rand) float64 { return float64(rng.IntN(7) - 3) }),
	each(func(rng *rand.Rand) float64 {
		if rng.IntN(50) > 0 {
			return 3 * rng.NormFloat64()
		}
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32, 0, 1e-40, -1e-40}[rng.IntN(8)]
	}),
	each(func(rng *rand.Rand) float64 { return 1e38 * max(-3, min(rng.NormFloat64(), 3)) }),
	each(func(rng *rand.Rand) float64 { return 0x1p-101 * rng.NormFloat64() }),
	each(func(*rand.Rand) float64 { return 2.5 }),
	func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(math.Inf(-1))
		}
		for range rng.IntN(3) {
			x[rng.IntN(len(x))] = float32(rng.NormFloat64())
		}
	},
}

func each(f func(rng *rand.Rand) float64) func(rng *rand.Rand, x []float32) {
	return func(rng *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(f(rng))
		}
	}
}
