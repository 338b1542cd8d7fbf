package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/mutate/model"
)

// tolerance is the greatest allowed difference from the expected logits, by the element type of the cache.
// With F32 the reference files are met within 2e-5: float32 sums in another order, through up to six layers.
// F16 rounds every number in the cache by 2^-11, which gives differences of 0.004 to 0.01.
var tolerance = map[quant.Type]float64{quant.F32: 1e-4, quant.F16: 0.05}

// expected is what a run must compute.
type expected struct {
	tokens    []int32
	logits    [][]float32 // by position; nil: not compared
	tolerance float64
}

func (e *expected) context() int { return max(len(e.tokens)+pickedTokens, plan.LargestBatch) }

// expect reads the reference logits. If the last token lies after the prompt, which is then repeated, its
// expected logits come from the CPU device.
func (t *trial) expect(m *model.Model, kv quant.Type) (*expected, error) {
	n := len(m.Prompt)
	if t.tokens > 0 {
		n = t.tokens
	}
	e := &expected{tolerance: tolerance[kv], logits: make([][]float32, n)}
	e.tokens = slices.Repeat(m.Prompt, n/len(m.Prompt)+1)[:n]
	vocab := m.Bound.Bundle.Model.VocabSize
	for pos := range min(n, len(m.Prompt)) {
		e.logits[pos] = m.Logits[pos*vocab : (pos+1)*vocab]
	}
	if n <= len(m.Prompt) {
		return e, nil
	}
	host, err := device.LoadSingle(cpu.New(), m.Bound, device.Config{Context: n, KV: kv})
	if err != nil {
		return nil, err
	}
	last := n - 1
	for pos := range e.tokens {
		out, err := host.Replay([]plan.Row{e.step(pos)}, device.AllIf(pos == last, 1))
		if err != nil {
			return nil, err
		}
		if pos == last {
			e.logits[pos] = slices.Clone(out)
		}
	}
	return e, host.Close()
}

func (e *expected) step(pos int) plan.Row {
	return plan.Row{Token: uint32(e.tokens[pos]), Pos: uint32(pos), NKV: uint32(pos + 1)}
}

// compare runs the prompt token by token, waiting for each. With again it runs the prompt once more and waits
// only for the last token. It returns the logits of the first round.
func (e *expected) compare(r device.Runner, again bool) (all []float32, err error) {
	last := len(e.tokens) - 1
	rounds := []bool{true, false} // whether to wait
	if !again {
		rounds = rounds[:1]
	}
	for _, wait := range rounds {
		for pos := range e.tokens {
			wanted := pos == last || wait && e.logits[pos] != nil
			got, err := r.Replay([]plan.Row{e.step(pos)}, device.AllIf(wanted, 1))
			if err != nil {
				return nil, fmt.Errorf("error: position %d: %w", pos, err)
			}
			if !wanted {
				continue
			}
			if worst := difference(got, e.logits[pos]); !(worst <= e.tolerance) {
				return nil, fmt.Errorf("logits: position %d: they differ by %g", pos, worst)
			}
			if wait {
				all = append(all, got...)
			}
		}
	}
	if total := r.Diagnostics().GPUTime; total != nil && total() <= 0 {
		return nil, errors.New("error: no GPU time")
	}
	return all, nil
}

// difference returns the largest absolute difference, or NaN if any logit is NaN.
func difference(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
	}
	return worst
}

// sameBits compares the bits of the logits with those that an earlier run wrote to a file.
func sameBits(path string, logits []float32) error {
	now := make([]byte, 0, 4*len(logits))
	for _, v := range logits {
		bits := math.Float32bits(v)
		now = append(now, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	before, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(path, now, 0o600)
	}
	if err == nil && string(before) != string(now) {
		return errors.New("bits: the logits are not those of the unchanged program")
	}
	return err
}
