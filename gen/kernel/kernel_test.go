package kernel

import (
	"slices"
	"testing"

	"mla/gen/lower"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// bundleOf compiles a spec with two profiles that differ in every other layer, for one row.
func bundleOf(t *testing.T, s *spec.Spec) *plan.Bundle {
	t.Helper()
	return bundleOfRows(t, s, 1)
}

// bundleOfRows is the same for a given number of rows.
func bundleOfRows(t *testing.T, s *spec.Spec, width int) *plan.Bundle {
	t.Helper()
	p := lower.Lower(s, width)
	if err := pass.Compile(p, pass.Options{}); err != nil {
		t.Fatal(err)
	}
	b := &plan.Bundle{Name: s.Name, Weights: WeightTable(p.Weights)}
	plain, mixed := plan.Profile{Name: "plain"}, plan.Profile{Name: "mixed"}
	for _, w := range b.Weights {
		plain.Types = append(plain.Types, []quant.Type{quant.F32})
		var types []quant.Type
		for l := max(w.First, 0); l < max(w.Last, 1); l++ {
			types = append(types, []quant.Type{quant.Q8_0, quant.Q4_0}[l%2])
		}
		mixed.Types = append(mixed.Types, types)
	}
	b.Profiles = []plan.Profile{plain, mixed}
	if err := Select(p, b); err != nil {
		t.Fatal(err)
	}
	Variants(b)
	return b
}

// access is the memory that a dispatch accesses: a byte range of the arena, or all of another writable space.
type access struct {
	space      plan.Space
	index      int
	start, end int64
	write      bool
}

func accesses(b *plan.Bundle, d *plan.Dispatch) []access {
	var list []access
	for i, s := range b.Kernels[d.Kernel].Slots {
		o := d.Operands[i]
		switch s.Space {
		case plan.SpaceArena:
			list = append(list, access{s.Space, 0, o.Offset, o.Offset + o.Bytes, s.Write})
		case plan.SpaceKV, plan.SpaceLogits:
			list = append(list, access{s.Space, o.Index, 0, 1, s.Write})
		}
	}
	return list
}

func conflict(a, b []access) bool {
	for _, x := range a {
		for _, y := range b {
			if x.space == y.space && x.index == y.index && x.start < y.end && y.start < x.end && (x.write || y.write) {
				return true
			}
		}
	}
	return false
}

// TestBarriers checks the plan itself, pair by pair: dispatches that touch the
// same bytes, one of them writing, have a barrier between them; and every
// barrier has such a pair right after it.
func TestBarriers(t *testing.T) {
	for seed := uint64(0); seed < 30; seed++ {
		b := bundleOf(t, spectest.Random(seed))
		since := 0
		for i := range b.Decode().Dispatches {
			needed := false
			for j := since; j < i; j++ {
				needed = needed || conflict(accesses(b, &b.Decode().Dispatches[j]), accesses(b, &b.Decode().Dispatches[i]))
			}
			if needed != b.Decode().Dispatches[i].Barrier {
				t.Errorf("seed %d, dispatch %d: barrier %v, needed %v", seed, i, b.Decode().Dispatches[i].Barrier, needed)
			}
			if b.Decode().Dispatches[i].Barrier {
				since = i
			}
		}
	}
}

// TestOperands checks that every dispatch binds each slot inside its memory and
// that no two slots of one dispatch share bytes if one is written.
func TestOperands(t *testing.T) {
	for seed := uint64(0); seed < 30; seed++ {
		b := bundleOf(t, spectest.Random(seed))
		for i, d := range b.Decode().Dispatches {
			k := &b.Kernels[d.Kernel]
			if len(d.Operands) != len(k.Slots) {
				t.Fatalf("seed %d, dispatch %d: %d operands for %d slots", seed, i, len(d.Operands), len(k.Slots))
			}
			list := accesses(b, &d)
			for j := range list {
				if list[j].space == plan.SpaceArena && list[j].end > b.Decode().ArenaBytes {
					t.Errorf("seed %d, dispatch %d: operand ends at %d of %d", seed, i, list[j].end, b.Decode().ArenaBytes)
				}
				if conflict(list[:j], list[j:j+1]) {
					t.Errorf("seed %d, dispatch %d: two slots share bytes", seed, i)
				}
			}
			for j, s := range k.Slots {
				if s.Space != d.Operands[j].Space {
					t.Errorf("seed %d, dispatch %d, slot %s: space %d, want %d", seed, i, s.Name, d.Operands[j].Space, s.Space)
				}
			}
		}
	}
}

// TestSharing: layers of one kind use the same kernels.
func TestSharing(t *testing.T) {
	s := spectest.Random(0)
	s.MoE, s.Model.NumHiddenLayers, s.Model.QLoraRank = nil, 5, 32
	b := bundleOf(t, s)
	if want := 8 + 2; len(b.Kernels) != want {
		var names []string
		for _, k := range b.Kernels {
			names = append(names, k.Name)
		}
		t.Errorf("%d kernels, want %d: %v", len(b.Kernels), want, names)
	}
}

// TestHeadShape: a prompt's head multiplies by the inputs of the rows that are wanted, and of no more.
func TestHeadShape(t *testing.T) {
	s := spectest.Random(0)
	for _, width := range []int{8, 16, 512} {
		b := bundleOfRows(t, s, width)
		d := b.Sequences[0].Dispatches // bundleOfRows has no other
		k := &b.Kernels[d[len(d)-1].Kernel]
		p, ok := k.Parts[0].(*plan.MatVec)
		if !ok || p.Rows != s.Model.VocabSize {
			t.Fatalf("the last kernel is %s", k.Name)
		}
		if want := min(width, plan.DefaultBatch); k.Width != want || p.Tokens != want {
			t.Errorf("%d rows: the head is of %d rows, %d at a time", width, k.Width, p.Tokens)
		}
	}
}

// TestVariants: one variant per combination that a profile has, none made up.
func TestVariants(t *testing.T) {
	s := spectest.Random(0)
	s.MoE, s.Model.NumHiddenLayers, s.Model.QLoraRank = nil, 4, 32
	b := bundleOf(t, s)
	for _, k := range b.Kernels {
		want := 3 // f32, and q8_0 or q4_0 by layer
		for _, slot := range k.Slots {
			if slot.Space == plan.SpaceKV {
				want *= 3 // f32, f16 and q8_0
			}
		}
		switch k.Name {
		case "embed", "lm_head":
			want = 2
		case "attend":
			want = 3 // the cache alone
		}
		if len(k.Variants) != want {
			t.Errorf("%s has %d variants, want %d: %v", k.Name, len(k.Variants), want, k.Variants)
		}
	}
	for _, w := range b.Weights {
		if len(w.Types) == 0 || !slices.IsSorted(w.Types) || len(slices.Compact(slices.Clone(w.Types))) != len(w.Types) || w.Kernel == "" {
			t.Errorf("%s: types %v, kernel %q", w.Role, w.Types, w.Kernel)
		}
	}
}

// TestArgs: the batch stride of every weight with a batch is passed, once.
func TestArgs(t *testing.T) {
	for seed := uint64(0); seed < 30; seed++ {
		b := bundleOf(t, spectest.Random(seed))
		for _, d := range b.Decode().Dispatches {
			k := &b.Kernels[d.Kernel]
			var want []int
			for i, s := range k.Slots {
				if s.Space == plan.SpaceWeight && b.Weights[d.Operands[i].Index].Batch > 1 {
					want = append(want, i)
				}
			}
			if !slices.Equal(k.Args, want) {
				t.Errorf("seed %d: %s passes the strides of slots %v, want %v", seed, k.Name, k.Args, want)
			}
			last := k.Slots[len(k.Slots)-1]
			if (last.Space == plan.SpaceArgs) != (len(want) > 0) {
				t.Errorf("seed %d: the last slot of %s is %+v", seed, k.Name, last)
			}
		}
	}
}
