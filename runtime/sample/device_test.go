package sample

import (
	"math"
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
		RepeatPenalty: 2, InvRepeatPenalty: 0.5, Window: 3}, Biases: []device.Bias{{Token: 2, Add: -1}, {Token: 8, Add: 1}}}
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
		if !slices.Equal(d.Recent, want) || (d.Window == plan.SampleWindowAll) != (want != nil) || d.TopP != plan.SampleTopPOff || d.InvTemperature != 0 {
			t.Errorf("penalty %v: %+v", penalty, d)
		}
	}
}
