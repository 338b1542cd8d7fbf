package tune

import (
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
)

// one is a shipped spec with one quant profile.
func one(t *testing.T, name, profile string) *spec.Spec {
	t.Helper()
	s, err := spec.Load("../../specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	q, err := spec.ParseQuant(profile)
	if err != nil {
		t.Fatal(err)
	}
	s.Quants = []spec.Quant{q}
	return s
}

// TestKnobsIllegal: shapes that no threadgroup has room for are not proposed.
func TestKnobsIllegal(t *testing.T) {
	s := one(t, "yoututiny", "f32")
	s.Model.KVLoraRank = 7936 // nearly all of the memory that a combine may take
	knobs, err := Knobs(s, []string{Attention})
	if err != nil {
		t.Fatal(err)
	}
	if len(knobs) != 1 {
		t.Fatal(knobNames(knobs))
	}
	for _, v := range knobs[0].Values[1:] {
		if v.Attention.Splits > 128 {
			t.Errorf("%s is proposed", v)
		}
	}
	if len(knobs[0].Values) < 10 {
		t.Errorf("only %v are proposed", knobs[0].Values)
	}
	if _, err := Knobs(s, []string{"o_proj", "nothing"}); err == nil || !strings.Contains(err.Error(), `nothing to tune in "nothing"; it has q_a_kv_a`) {
		t.Errorf("error %v", err)
	}
}

// TestCover: every value occurs, attention and the kernel that combines its splits
// never both changed.
func TestCover(t *testing.T) {
	knobs, err := Knobs(one(t, "yoututiny", "f32"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if first := Cover(knobs[:2])[0]; !slices.Equal(first, []int{0, 0}) {
		t.Errorf("%v comes first", first)
	}
	seen := make([]map[int]bool, len(knobs))
	for i := range seen {
		seen[i] = map[int]bool{}
	}
	vb := slices.Index(knobNames(knobs), "v_b")
	for _, choice := range Cover(knobs) {
		for i, v := range choice {
			seen[i][v] = true
		}
		if choice[vb] > 0 && choice[len(choice)-1] > 0 {
			t.Errorf("%v moves v_b and attention", choice)
		}
	}
	for i, k := range knobs {
		if len(seen[i]) != len(k.Values) {
			t.Errorf("%d of %d values of %s", len(seen[i]), len(k.Values), k.Name)
		}
	}
}

// TestWithin: the values around a shape, round by round.
func TestWithin(t *testing.T) {
	knobs := []Knob{grid("a")} // from 2, 4, 4
	for rounds, want := range []int{1, 8, 29, 63} {
		near := Within(knobs, rounds)
		if got := len(near[0].Values); got != want || near[0].Values[0] != knobs[0].Values[0] {
			t.Errorf("%d rounds: %d values, expected %d: %v", rounds, got, want, near[0].Values)
		}
	}
	if got := len(Within(knobs, 100)[0].Values); got != len(knobs[0].Values) {
		t.Errorf("%d of %d values are reached", got, len(knobs[0].Values))
	}
}

// TestShort checks that shortened large models have all kernels of the complete ones, with the same names for
// tuning.
func TestShort(t *testing.T) {
	for name, layers := range map[string]int{"youtu2b": 3, "deepseekv2lite": 4, "glm47flash": 4, "yoututiny": 3} {
		s := one(t, name, "q4_0")
		short := Short(s)
		if short.Model.NumHiddenLayers != layers {
			t.Errorf("%s: %d layers, expected %d", name, short.Model.NumHiddenLayers, layers)
		}
		if s.MoE != nil && (short.MoE == s.MoE || short.MoE.FirstKDenseReplace != 1) {
			t.Errorf("%s: %+v", name, short.MoE)
		}
	}
}
