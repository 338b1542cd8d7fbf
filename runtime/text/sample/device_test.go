package sample

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// TestSampling describes a sampler to a device before and after its window is full.
func TestSampling(t *testing.T) {
	p := Params{Temperature: 0.5, TopK: 40, TopP: 0.5, MinP: 0, RepeatPenalty: 2, RepeatLastN: 3, Seed: 9,
		LogitBias: map[int32]float32{8: 1, 2: -1}}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	s.Next([]float32{1, 2})
	s.Skip()
	want := &device.Sampling{Sampling: plan.Sampling{Seed: 9, Draw: 2, TopP: 1 << 31, TopK: 40, InvTemperature: 2, LogMinP: -math.MaxFloat32,
		RepeatPenalty: 2, InvRepeatPenalty: 0.5}, Window: 3, Biases: []device.Bias{{Token: 2, Add: -1}, {Token: 8, Add: 1}}}
	for i, recent := range [][]int32{nil, {10}, {10, 11}, {10, 11, 12}, {11, 12, 13}, {12, 13, 14}} {
		if i > 0 {
			s.Accept(int32(9 + i))
		}
		want.Recent = recent
		if got := s.Sampling(); !reflect.DeepEqual(got, want) {
			t.Errorf("after %d tokens: %+v; expected %+v", i, got, want)
		}
	}
}

// TestSamplingOfAll keeps no order where every token counts, and nothing where
// none does.
func TestSamplingOfAll(t *testing.T) {
	for penalty, want := range map[float32][]int32{1: nil, 2: {5, 5, 6}} {
		p := Off()
		p.RepeatPenalty, p.RepeatLastN = penalty, -1
		s, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int32{5, 6, 5} {
			s.Accept(id)
		}
		d := s.Sampling()
		if !slices.Equal(d.Recent, want) || (d.Window == device.WindowAll) != (want != nil) || d.TopP != plan.SampleTopPOff || d.InvTemperature != 0 {
			t.Errorf("penalty %v: %+v", penalty, d)
		}
	}
}

// TestPicked picks by what a device is told, after a text and after guesses of how it goes
// on, what the sampler picks that has accepted them.
func TestPicked(t *testing.T) {
	const vocab = 50
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := Params{
			Temperature: []float32{0, 0.7, 30}[rng.IntN(3)], TopK: []int{0, 5, vocab}[rng.IntN(3)], TopP: []float32{1, 0.6}[rng.IntN(2)], MinP: []float32{0, 0.1}[rng.IntN(2)],
			RepeatPenalty: []float32{1, 1.5}[rng.IntN(2)], PresencePenalty: []float32{0, 2}[rng.IntN(2)], FrequencyPenalty: []float32{0, -1}[rng.IntN(2)],
			RepeatLastN: []int{-1, 0, 1, 7}[rng.IntN(4)], Seed: rng.Uint64(), LogitBias: map[int32]float32{3: 2, 9: inf * -1, vocab + 1: 7},
		}
		s := mustNew(t, p)
		for range rng.IntN(20) {
			s.Accept(int32(rng.IntN(vocab + 3)))
		}
		state := s.Sampling()
		for range 4 {
			logits := make([]float32, vocab)
			for i := range logits {
				logits[i] = float32(rng.NormFloat64() * 3)
			}
			pick, err := state.Pick(0, vocab)
			if err != nil {
				t.Fatal(err)
			}
			pick.Mask = []uint32{rng.Uint32() | 1} // of the first 32 of the tokens
			if rng.IntN(2) == 0 {
				pick.Mask = nil
			}
			s.Allow(pick.Mask)
			want := s.Next(logits)
			if pick.Mask != nil && (want < 0 || want >= 32 || pick.Mask[0]>>want&1 == 0) {
				t.Fatalf("%+v: token %d is not in the mask %x", p, want, pick.Mask)
			}
			s.Allow(nil)
			if got := Picked(&pick, logits); got != want {
				t.Fatalf("%+v: token %d; expected %d", p, got, want)
			}
			s.Accept(want)
			state = state.After(want)
			if now := s.Sampling(); now.Window != device.WindowAll && !reflect.DeepEqual(state, now) {
				t.Fatalf("%+v: %+v after a guess; expected %+v", p, state, now)
			}
		}
	}
}
