package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
)

// A deep run tests a long context without computing it. The cache is filled with random rows, and only tokens
// at some positions run: on the executor with all of its checks, and on the CPU device.

// deepTolerance is the greatest difference from the CPU device's logits, relative to the largest logit, by
// the element type of the cache. With F32 the sums over thousands of rows differ in their order. With F16 the
// products of halves differ as well.
var deepTolerance = map[quant.Type]float64{quant.F32: 1e-4, quant.F16: 2e-3}

// deepPositions are the positions where the splits of attention change: before and after the end of the first
// tile, where a split first has two tiles, and the first position that uses all splits.
func deepPositions(b *plan.Bundle) []int {
	var all []int
	for _, k := range b.Kernels {
		for _, p := range k.Parts {
			if a, ok := p.(*plan.Attend); ok {
				full := allSplits(a.Splits)
				all = append(all, a.Splits.Tile-1, a.Splits.Tile, 4*a.Splits.Tile*a.Splits.Tile, full-1, full+a.Splits.Tile/2)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allSplits returns the smallest number of rows at which every split has some.
func allSplits(s plan.Splits) int {
	for n := 1; ; n++ {
		if s.Used(n) == s.Count {
			return n
		}
	}
}

// deepRun runs a token at each of the positions. Its pages are in descending order, so that a kernel which
// ignores the block table reads another row.
type deepRun struct {
	model     *device.Model
	config    device.Config
	pages     []uint32 // the pages in block table 0
	positions []int
	expected  [][]float32
}

// newDeep computes the expected logits on the CPU device. m must be without a mutation.
func newDeep(m *device.Model, kv quant.Type) (*deepRun, error) {
	d := &deepRun{model: m, positions: deepPositions(m.Bundle)}
	context := d.positions[len(d.positions)-1] + 1
	d.config = device.Config{Context: context, KV: kv, Tables: 1, Pages: plan.Pages(context)}
	for page := range d.config.Pages {
		d.pages = append(d.pages, uint32(d.config.Pages-1-page))
	}
	l, err := m.Layout(d.config)
	if err != nil {
		return nil, err
	}
	b := m.Bundle
	mem := &cpu.Memory{Arena: make([]byte, l.Arena), Tables: device.NewTables(1, l.MaxPages, l.Pages), Rope: make([]float32, l.Rope/4), Logits: make([]float32, l.Logits/4)}
	device.RopeTable(mem.Rope, l.Freqs, b.RopeMScale)
	if _, err := mem.Tables.Assign(0, 0, d.pages); err != nil {
		return nil, err
	}
	for range l.Layers {
		mem.Caches = append(mem.Caches, make([]byte, l.Cache))
	}
	return d, d.each(mem.Caches, func(s plan.Row) error {
		err := cpu.Launch(m, d.config, mem, []plan.Row{s})
		d.expected = append(d.expected, slices.Clone(mem.Logits))
		return err
	})
}

// each fills the caches up to each position in turn and runs the token there.
func (d *deepRun) each(caches [][]byte, run func(plan.Row) error) error {
	rng := rand.New(rand.NewPCG(3, 4))
	filled := 0
	for _, pos := range d.positions {
		for _, c := range caches {
			bytes := len(c) / len(d.pages) / plan.PageRows
			for p := filled; p < pos; p++ {
				row := int(d.pages[p/plan.PageRows])*plan.PageRows + p%plan.PageRows
				d.fill(rng, c[row*bytes:][:bytes])
			}
		}
		filled = pos + 1 // keep the row that the token wrote
		if err := run(plan.Row{Token: uint32(pos % d.model.Bundle.Model.VocabSize), Pos: uint32(pos), NKV: uint32(pos + 1)}); err != nil {
			return err
		}
	}
	return nil
}

// fill fills a buffer with random numbers of the cache's element type.
func (d *deepRun) fill(rng *rand.Rand, to []byte) {
	for len(to) > 0 {
		v := 2*rng.Float32() - 1
		if d.config.KV == quant.F16 {
			binary.LittleEndian.PutUint16(to, quant.FloatToHalf(v))
			to = to[2:]
			continue
		}
		binary.LittleEndian.PutUint32(to, math.Float32bits(v))
		to = to[4:]
	}
}

// compare runs a model, which may have a mutation, and returns all logits. It is an error if they differ from
// the expected ones.
func (d *deepRun) compare(on device.Device, m *device.Model) (all []float32, err error) {
	made, err := on.Load(m, d.config)
	if err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	r := made.(*replay.Runner)
	if err := r.Assign(0, 0, d.pages); err != nil {
		return nil, err
	}
	err = d.each(r.Memory().Caches, func(s plan.Row) error {
		got, err := r.Replay([]plan.Row{s}, device.All(1))
		if err != nil {
			return fmt.Errorf("error: position %d: %w", s.Pos, err)
		}
		want := d.expected[len(all)/len(got)]
		all = append(all, got...)
		if worst := difference(got, want) / largest(want); !(worst <= deepTolerance[d.config.KV]) {
			return fmt.Errorf("logits: position %d: they differ by %g of the largest", s.Pos, worst)
		}
		return nil
	})
	return all, err
}

func largest(x []float32) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}
