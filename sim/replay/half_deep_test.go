//go:build deep

package replay_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
)

// TestHalf replays the files for which there are bundles with f16 activations. After each dispatch the memory
// must equal the result of its Go reference on the same memory. Complete tokens are compared in
// runtime/doctor/reference with larger tolerances, because small differences grow from layer to layer.
func TestHalf(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Fast) // the kernels run with all checks in gen/msl
	for _, stem := range []string{"reference/youtu-mini-Q4_0", "reference/youtu-mini-Q4_K_M", "reference/dsv2lite-mini-Q4_K_M", "reference/glm47-mini-Q4_K_M", "tinyglm"} {
		t.Run(stem, func(t *testing.T) {
			stem := root + "testdata/" + stem
			m, ref := bindFile(t, stem+".gguf", "f16"), read(t, stem)
			for kv, n := range halfTokens {
				l := lockstep{model: m, config: device.Config{Context: n, KV: kv}}
				l.replay(t, d, ref.Prompt[:n])
			}
		})
	}
}

// halfTokens is how many tokens of a prompt run. Attention on a cache of halves has a
// form of its own from 8 rows on.
var halfTokens = map[quant.Type]int{quant.F32: 4, quant.F16: 10}

// lockstep compares every dispatch of a replay with its reference.
type lockstep struct {
	model  *device.Model
	config device.Config
	runner *replay.Runner
	step   plan.Row
}

func (l *lockstep) replay(t *testing.T, d *replay.Device, tokens []int32) {
	t.Helper()
	l.runner = record(t, d, l.model, l.config)
	l.runner.Around = l.dispatch
	for pos, token := range tokens {
		l.step = plan.Row{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos) + 1}
		step(t, l.runner, pos, token)
	}
}

// dispatch runs a dispatch, and its reference on a copy of the memory as it was before.
func (l *lockstep) dispatch(i int, run func() error) error {
	got := l.runner.Memory()
	want := &cpu.Memory{Arena: slices.Clone(got.Arena), Tables: got.Tables, Rope: got.Rope, Logits: slices.Clone(got.Logits)}
	for _, c := range got.Caches {
		want.Caches = append(want.Caches, slices.Clone(c))
	}
	if err := run(); err != nil {
		return err
	}
	one := *l.model.Bundle
	alone := *one.Decode()
	alone.Dispatches, alone.Head = alone.Dispatches[i:i+1], 0
	one.Sequences = []plan.Sequence{alone}
	if err := cpu.Launch(&device.Model{Bundle: &one, Weights: l.model.Weights, Regions: l.model.Regions}, l.config, want, []plan.Row{l.step}); err != nil {
		return err
	}
	k := &one.Kernels[one.Decode().Dispatches[0].Kernel]
	results, host := make([][]float32, len(k.Slots)), make([][]float32, len(k.Slots))
	for slot, s := range k.Slots {
		if s.Write && s.Space != plan.SpaceCounters {
			results[slot], host[slot] = l.numbers(got, i, slot), l.numbers(want, i, slot)
		}
	}
	if a, ok := k.Parts[0].(*plan.Attend); ok {
		check.Rebase(results[a.ML], host[a.ML])
		results[a.Out] = results[a.Out][:a.Splits.Used(int(l.step.NKV))*a.Heads*a.LatDim] // empty splits hold what was there before, maybe infinities
	}
	for slot, s := range k.Slots {
		off, allowed := offBy(results[slot], host[slot]), l.allowed(k, slot)
		if !(off <= allowed) {
			return fmt.Errorf("%s cache, position %d: %s of %s is off by %.2g of its largest number; at most %g is allowed", l.config.KV, l.step.Pos, s.Name, k.Name, off, allowed)
		}
	}
	return nil
}

// allowed is how far a slot may be from the reference's, relative to its largest number:
// float32 sums in another order. One that becomes a half may lie between two of them,
// 2^-10 of itself apart; attention multiplies the
// rows of a cache of halves as halves, its reference as floats.
func (l *lockstep) allowed(k *plan.Kernel, slot int) float64 {
	readsHalves := func(s plan.Slot) bool { return s.Space == plan.SpaceKV && !s.Write && l.config.KV == quant.F16 }
	if l.isHalf(k.Slots[slot]) || slices.ContainsFunc(k.Slots, readsHalves) {
		return 1e-3
	}
	return 1e-5
}

func (l *lockstep) isHalf(s plan.Slot) bool {
	return s.Elem == plan.ElemAct || s.Elem == plan.ElemTyped && l.config.KV == quant.F16
}

// numbers returns the numbers in a slot of a dispatch.
func (l *lockstep) numbers(m *cpu.Memory, dispatch, slot int) []float32 {
	d := &l.model.Bundle.Decode().Dispatches[dispatch]
	op, s := &d.Operands[slot], &l.model.Bundle.Kernels[d.Kernel].Slots[slot]
	var bytes []byte
	switch op.Space {
	case plan.SpaceLogits:
		return m.Logits
	case plan.SpaceKV:
		bytes = m.Caches[op.Index]
	default:
		bytes = m.Arena[op.Offset : op.Offset+op.Bytes]
	}
	var out []float32
	if l.isHalf(*s) {
		for ; len(bytes) > 0; bytes = bytes[2:] {
			out = append(out, quant.HalfToFloat(binary.LittleEndian.Uint16(bytes)))
		}
		return out
	}
	for ; len(bytes) > 0; bytes = bytes[4:] {
		word := binary.LittleEndian.Uint32(bytes)
		if s.Elem == plan.ElemRoute && len(bytes)%8 == 0 {
			out = append(out, float32(word)) // the expert; its weight follows
			continue
		}
		out = append(out, math.Float32frombits(word))
	}
	return out
}

// offBy returns the largest difference, relative to the largest expected number. It is NaN if exactly one of
// two numbers is NaN; numbers that neither side wrote are NaN in both.
func offBy(got, want []float32) float64 {
	off, largest := 0.0, math.SmallestNonzeroFloat64
	for i, g := range got {
		if w := want[i]; g == g || w == w {
			off = math.Max(off, math.Abs(float64(g)-float64(w)))
			largest = max(largest, math.Abs(float64(w)))
		}
	}
	return off / largest
}
