package pass

import (
	"flag"
	"os"
	"slices"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
)

var update = flag.Bool("update", false, "write the golden file")

// TestGolden compares the compiled program of the model in gen/lower/testdata/small.txt with a golden file:
// fused parts, offsets in the arena, and barriers. go test -update rewrites the file.
func TestGolden(t *testing.T) {
	s, err := spec.Load("../lower/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := lower.Lower(s, 1)
	if err := Compile(p, Options{}); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/small.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != string(want) {
		t.Errorf("the program differs from %s (-update rewrites it):\n%s", golden, got)
	}
}

// TestEveryFusionSaves checks that without any single fusion a token takes more dispatches, in the models to
// which the fusion applies.
func TestEveryFusionSaves(t *testing.T) {
	s, err := spec.Load("../lower/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	models := []*spec.Spec{s, spectest.Hybrid(0), spectest.Hybrid(1)} // both kinds of gates of linear attention
	launches := func(s *spec.Spec, width int, disable ...string) int {
		p := lower.Lower(s, width)
		if err := Compile(p, Options{Disable: disable}); err != nil {
			t.Fatal(err)
		}
		return len(p.Launches)
	}
	for _, ps := range Pipeline {
		if ps.Required || ps.Name == "norm_partial" { // it saves work, not dispatches
			continue
		}
		for _, width := range []int{1, 8} {
			saves := func(s *spec.Spec) bool { return launches(s, width, ps.Name) > launches(s, width) }
			if ps.Rows.has(lower.Lower(s, width)) && !slices.ContainsFunc(models, saves) {
				t.Errorf("without %s there are no more dispatches of %d rows in any model", ps.Name, width)
			}
		}
	}
}

// owner says whose bytes an arena holds, in units of arenaAlign.
type owner map[int64]*ir.Value

func units(p *ir.Program, v *ir.Value) (first, last int64) {
	return v.Offset / arenaAlign, (v.Offset + p.Bytes(v) - 1) / arenaAlign
}

func (o owner) write(p *ir.Program, v *ir.Value) {
	first, last := units(p, v)
	for u := first; u <= last; u++ {
		o[u] = v
	}
}

func (o owner) holds(p *ir.Program, v *ir.Value) bool {
	first, last := units(p, v)
	for u := first; u <= last; u++ {
		if o[u] != v {
			return false
		}
	}
	return true
}

// TestBuffers replays who owns which bytes: every value is whole when a launch
// reads it, also while that launch writes its outputs, and lies inside the arena
// on an aligned place.
func TestBuffers(t *testing.T) {
	for seed := range uint64(40) {
		s := spectest.Random(seed)
		if seed%2 == 1 {
			s.Activations = "f16"
		}
		p := lower.Lower(s, 1)
		if err := Compile(p, Options{}); err != nil {
			t.Fatal(err)
		}
		uses, arena, naive := ir.Analyze(p), owner{}, int64(0)
		for _, launch := range p.Launches {
			reads, writes := outside(uses, launch)
			for _, v := range writes {
				if end := v.Offset + p.Bytes(v); v.Offset%arenaAlign != 0 || v.Offset < 0 || end > p.ArenaBytes {
					t.Errorf("seed %d: %s ends at %d of %d", seed, v, end, p.ArenaBytes)
				}
				arena.write(p, v)
				naive += p.Bytes(v)
			}
			for _, v := range append(reads, writes...) {
				if !arena.holds(p, v) {
					t.Errorf("seed %d, %s: the bytes of %s hold something else", seed, launch.Name(), v)
				}
			}
		}
		if s.Model.NumHiddenLayers > 1 && p.ArenaBytes >= naive {
			t.Errorf("seed %d: %d bytes, %d without reuse", seed, p.ArenaBytes, naive)
		}
	}
}

// outside lists the arena values that a launch reads and writes for others.
func outside(uses *ir.Uses, s *ir.Launch) (reads, writes []*ir.Value) {
	for _, part := range s.Parts {
		for _, op := range part.Ops {
			for _, r := range op.In {
				if r.V.Class == ir.Act && !r.V.Output && !part.Writes(r.V) {
					reads = append(reads, r.V)
				}
			}
			for _, o := range op.Out {
				if o.Class == ir.Act && !o.Output && !uses.Local(o) {
					writes = append(writes, o)
				}
			}
		}
	}
	return reads, writes
}
