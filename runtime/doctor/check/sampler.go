package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// Sampler picks tokens with the bundle's sampler on a Launcher, by random logits
// of all kinds and with parameters that take all its paths. It returns the first
// token that is not what runtime/text/sample picks, or the first row that is not the
// token's, as an error.
func Sampler(l device.Launcher, b *plan.Bundle, tokens int) error {
	m, err := newSamplerMemory(l, b)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	all := samplings(b.Model.VocabSize)
	for done, chain := 0, 0; done < tokens; chain++ {
		p := all[chain%len(all)]
		n, err := m.chain(rng, p, done)
		if err != nil {
			return fmt.Errorf("bundle %s, sampler, %+v: %w", b.Name, p, err)
		}
		done += n
	}
	return nil
}

// samplerMemory is what the sampler's kernels run on.
type samplerMemory struct {
	launcher            device.Launcher
	launches            []*device.Launch
	memory, logits, row []byte
	layout              plan.SampleLayout
	vocab               int
}

func newSamplerMemory(l device.Launcher, b *plan.Bundle) (*samplerMemory, error) {
	m := &samplerMemory{launcher: l, vocab: b.Model.VocabSize, layout: plan.SampleLayoutOf(b.Model.VocabSize, 1)}
	if b.SampleBytes < m.layout.Values || len(b.Sample) == 0 {
		return nil, fmt.Errorf("no sampler, or one with only %d bytes", b.SampleBytes)
	}
	m.memory, m.logits, m.row = make([]byte, b.SampleBytes), make([]byte, 4*m.vocab), make([]byte, 16)
	for i := range b.Sample {
		d := &b.Sample[i]
		k := &b.Kernels[d.Kernel]
		launch := &device.Launch{Kernel: k, Variant: &k.Variants[0], Groups: k.Groups(), Threads: k.Threads}
		for _, o := range d.Operands {
			switch o.Space {
			case plan.SpaceSample:
				launch.Buffers = append(launch.Buffers, m.memory[o.Offset:o.Offset+o.Bytes:o.Offset+o.Bytes])
			case plan.SpaceLogits:
				launch.Buffers = append(launch.Buffers, m.logits)
			case plan.SpaceRow:
				launch.Buffers = append(launch.Buffers, m.row)
			default:
				return nil, fmt.Errorf("the sampler's kernel %s has an operand in space %d", k.Name, o.Space)
			}
		}
		m.launches = append(m.launches, launch)
	}
	return m, nil
}

// chain picks tokens one after the other, by logits of one kind after the other,
// behind a token at a position. It returns how many.
func (m *samplerMemory) chain(rng *rand.Rand, p sample.Params, position int) (picked int, err error) {
	s, err := sample.New(p)
	if err != nil {
		return 0, err
	}
	for range 70 {
		s.Accept(int32(rng.IntN(20)))
	}
	if err := s.Sampling().Write(m.memory, m.vocab); err != nil {
		return 0, err
	}
	m.setRow(plan.Row{Pos: uint32(position), NKV: uint32(position + 1)})
	for kind, fill := range logitKinds {
		logits := make([]float32, m.vocab)
		fill(rng, logits)
		want := s.Next(logits)
		got, err := m.pick(logits, picked)
		if err != nil {
			return picked, err
		}
		if picked++; got != want {
			return picked, fmt.Errorf("token %d, by logits of kind %d: picked %d; expected %d", position+picked, kind, got, want)
		}
		if want < 0 {
			return picked, nil
		}
		s.Accept(want)
		next := plan.Row{Token: uint32(want), Pos: uint32(position + picked), NKV: uint32(position + picked + 1)}
		if row := m.getRow(); row != next {
			return picked, fmt.Errorf("token %d: the next row is %+v; expected %+v", position+picked, row, next)
		}
	}
	return picked, nil
}

// pick runs the kernels once, for the n-th token of a chain.
func (m *samplerMemory) pick(logits []float32, n int) (int32, error) {
	for i, x := range logits {
		binary.LittleEndian.PutUint32(m.logits[4*i:], math.Float32bits(x))
	}
	for _, l := range m.launches {
		if err := m.launcher.Launch(l); err != nil {
			return 0, fmt.Errorf("kernel %s: %w", l.Kernel.Name, err)
		}
	}
	at := m.layout.Picks + 4*int64(n%plan.SamplePicks)
	return int32(binary.LittleEndian.Uint32(m.memory[at:])), nil
}

func (m *samplerMemory) setRow(r plan.Row) {
	for i, v := range []uint32{r.Token, r.Pos, r.NKV, r.Table} {
		binary.LittleEndian.PutUint32(m.row[4*i:], v)
	}
}

func (m *samplerMemory) getRow() plan.Row {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(m.row[4*i:]) }
	return plan.Row{Token: word(0), Pos: word(1), NKV: word(2), Table: word(3)}
}

// samplings are parameters that take every path of the sampler. The least and the greatest
// draw of all meet the first and the last token that can be drawn, at the very edge.
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
		func(p *sample.Params) { p.MinP, p.Seed = 1, seedOfLeast },   // blocks before the best token weigh nothing
		func(p *sample.Params) { p.Seed = seedOf(random, allEqual) }, // a chain draws once by each kind of logits
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

// allEqual is the one of logitKinds that gives all tokens the same weight.
const allEqual = 7

// logitKinds fill logits: as a model has them, close to each other, none positive,
// with many ties, with numbers that are none, huge, tiny, all equal, and hardly any.
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
