//go:build deep

package tune

import (
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestKnobs: every value of every knob compiles as it would stand in the spec, the
// first is the spec's own, and no value comes twice.
func TestKnobs(t *testing.T) {
	for _, s := range []*spec.Spec{one(t, "yoututiny", "f32"), one(t, "glm47tiny", "q4_0"), spectest.Random(5)} {
		knobs, err := Knobs(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(knobs) < 6 || knobs[len(knobs)-1].Name != Attention {
			t.Errorf("%s: %v", s.File, knobNames(knobs))
		}
		for i := range knobs {
			k := &knobs[i]
			if len(k.Values) < 5 || len(k.Stages) == 0 {
				t.Errorf("%s: %s has %d values, stages %v", s.File, k.Name, len(k.Values), k.Stages)
			}
			more := k.Values[0]
			if more.Shape.Unroll *= 2; k.Name != Attention && !slices.Contains(k.Values, more) {
				t.Errorf("%s: %s cannot have %s", s.File, k.Name, more)
			}
			for j, v := range k.Values {
				if slices.Contains(k.Values[:j], v) {
					t.Errorf("%s: %s has %s twice", s.File, k.Name, v)
				}
				if j%9 != i%9 {
					continue // each ninth is enough
				}
				choice := make([]int, len(knobs))
				choice[i] = j
				with, err := s.WithTuning(Tuning(s.Tuning, knobs, choice))
				if err == nil {
					_, err = gen.Compile(with, nil)
				}
				if err != nil {
					t.Errorf("%s: %s at %s: %v", s.File, k.Name, v, err)
				}
			}
		}
	}
}

// TestPieces checks that a kernel's source does not depend on the shapes of other kernels, so that a compiled
// kernel can be used in every choice.
func TestPieces(t *testing.T) {
	s := one(t, "glm47tiny", "q4_0")
	knobs, err := Knobs(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{}
	add := func(choice []int) (fresh int) {
		for _, p := range pieces(t, s, knobs, choice) {
			if !sources[p.Source] {
				fresh++
			}
			sources[p.Source] = true
		}
		return fresh
	}
	for _, choice := range Cover(knobs) {
		add(choice)
	}
	for at := 1; at < 40; at += 7 { // combinations that Cover does not have
		choice := make([]int, len(knobs))
		for i := range len(knobs) - 1 {
			choice[i] = (at * (i + 3)) % len(knobs[i].Values)
		}
		if n := add(choice); n > 0 {
			t.Errorf("%v has %d kernels that Cover does not", choice, n)
		}
	}
	for _, p := range pieces(t, s, knobs, make([]int, len(knobs))) {
		for _, v := range p.Kernels[0].Variants {
			if strings.Contains(p.Kernels[0].Name, "store_kv") && !strings.Contains(v.Func, "f16") || strings.HasPrefix(v.Func, "sample") {
				t.Errorf("%s is compiled for nothing", v.Func)
			}
		}
	}
}

func pieces(t *testing.T, s *spec.Spec, knobs []Knob, choice []int) []*plan.Bundle {
	t.Helper()
	b, _, err := Trial(s, Tuning(s.Tuning, knobs, choice))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Pieces(b, quant.F16)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
