package plan

import "testing"

func TestOnCores(t *testing.T) {
	s := Splits{Count: 160, Tile: 16, PerCore: 3}
	for cores, want := range map[int]int{-1: 160, 0: 160, 1: 3, 8: 24, 40: 120, 60: 120, 76: 152, 80: 160, 160: 160, 161: 160} {
		if n := s.OnCores(cores); n != want {
			t.Errorf("%d splits on %d cores; expected %d", n, cores, want)
		}
	}
	for atOnce, want := range map[int]int{-1: 160, 0: 160, 1: 1, 10: 10, 160: 160, 161: 81, 320: 160, 321: 107} {
		if n := s.InTurns(atOnce); n != want {
			t.Errorf("%d splits of which %d run at a time; expected %d", n, atOnce, want)
		}
		if again := (Splits{Count: want, PerCore: 3}).InTurns(atOnce); atOnce > 0 && again != want {
			t.Errorf("%d at a time: %d splits, and %d of those", atOnce, want, again)
		}
	}
	s.PerCore = 0
	if s.OnCores(8) != 160 || s.InTurns(8) != 160 {
		t.Error("the number of splits follows the GPU where the plan does not say so")
	}
}

func TestWithSplits(t *testing.T) {
	cut := Splits{Count: 160, Tile: 16, PerCore: 3}
	k := &Kernel{Args: []int{1}, Parts: []Part{&Attend{Splits: cut}, &CombineVec{Combine: Combine{Splits: cut}}, &MatVec{Product: Product{Combine: &Combine{Splits: cut}}}, &MatVec{}}}
	with := k.WithSplits(24)
	for i, n := range []int{with.Parts[0].(*Attend).Splits.Count, with.Parts[1].(*CombineVec).Combine.Splits.Count, with.Parts[2].(*MatVec).Combine.Splits.Count} {
		if n != 24 {
			t.Errorf("part %d has %d splits", i, n)
		}
	}
	if k.PerCore().Count != 160 || with.Parts[3] != k.Parts[3] || with.Constants() != 2 || with.WithSplits(24) != with {
		t.Errorf("%+v became %+v", k, with)
	}
	if n := k.WithSplits(1000).PerCore().Count; n != 160 {
		t.Errorf("%d splits, but there is room for 160", n)
	}
	plain := &Kernel{Parts: []Part{&Attend{Splits: Splits{Count: 132}}}}
	if plain.WithSplits(24) != plain || plain.Constants() != 0 || !plain.Attends() {
		t.Error("a kernel whose splits do not follow the cores is changed")
	}
}
