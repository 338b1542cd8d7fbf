//go:build deep

package msl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
)

// TestExpertsOfBatch runs products of a batch's experts by fewer threadgroups than there are tiles, so that each takes
// several: of one expert and of the next one, steps that do not share out evenly, experts that are selected by more
// rows than a tile holds, matrices of one format and of two, activations of both types, on devices with copies that
// need no registers, which arrive as late as they may, and without.
func TestExpertsOfBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		act, class, definitions      string
		hidden, tokens, threadgroups int
	}{
		{"f16", plan.ClassNVIDIA, splitRows + lateCopies, 1024, 8, 1},
		{"f16", plan.ClassNVIDIA, splitRows + lateCopies, 768, 16, 5},
		{"f32", plan.ClassNVIDIA, splitRows + lateCopies, 768, 8, 3},
		{"f16", "", "", 768, 8, 3},
		{"f32", "", "", 1024, 16, 7},
	} {
		t.Run(fmt.Sprint(c.act, c.class, c.hidden, c.tokens, c.threadgroups), func(t *testing.T) {
			t.Parallel()
			b, few := expertsOfBatch(t, c.act, c.class, c.hidden, c.tokens, c.threadgroups)
			cases := casesOf(t, b, few)
			if len(few.Kernels) != 2 || len(cases) < 8 {
				t.Errorf("%d kernels, %d cases", len(few.Kernels), len(cases))
			}
			newLauncher(t, c.definitions+few.Metal(), execute.Checked).compareWithReference(t, cases)
		})
	}
}

// expertsOfBatch is a model whose experts' kernels of 16 rows are run by a given number of threadgroups together, and a bundle
// of these kernels alone.
func expertsOfBatch(t *testing.T, act, class string, hidden, tokens, threadgroups int) (b, few *plan.Bundle) {
	t.Helper()
	s, err := spec.Load("../../specs/dsv2litemini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Activations, s.Class, s.Model.HiddenSize = act, class, hidden
	if b, err = gen.Compile(s.WithSequences(1, 16), nil); err != nil {
		t.Fatal(err)
	}
	few = &plan.Bundle{Name: b.Name, Activations: b.Activations, Model: b.Model, Class: b.Class}
	for i := range b.Kernels {
		k := &b.Kernels[i]
		at := slices.IndexFunc(k.Parts, func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Persistent > 0 })
		if at < 0 {
			continue
		}
		e := k.Parts[at].(*plan.Experts)
		e.Tokens, e.Persistent = tokens, threadgroups
		if e.Up < 0 || len(k.Parts) == 1 {
			k.Variants = inAllFormats(k)
		}
		few.Kernels = append(few.Kernels, *k)
	}
	if few.Source, err = msl.Print(few, "// test"); err != nil {
		t.Fatal(err)
	}
	return b, few
}

// casesOf are the cases of the kernels that a bundle of some of b's has.
func casesOf(t *testing.T, b, few *plan.Bundle) []check.Case {
	t.Helper()
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(cases, func(k check.Case) bool {
		return !slices.ContainsFunc(few.Kernels, func(f plan.Kernel) bool { return f.Name == k.Kernel.Name })
	})
}

// TestExpertsEarly checks that the experts' down projection loads nothing that the dispatch before writes
// until that one has ended: its inputs are other bytes until GRID_WAIT.
func TestExpertsEarly(t *testing.T) {
	t.Parallel()
	const (
		before = "    GRID_WAIT;\n    state::find_rows(s, s.inputs, lane);\n"
		send   = "    UNROLL for (uint i = 0; i < product_t::TILES; ++i) state::send_next(s, s.inputs, tiles, i, lane);\n"
	)
	for _, c := range []struct {
		act, class, definitions string
		bytes                   int // of an input
	}{{"f16", plan.ClassNVIDIA, splitRows, 2}, {"f32", "", "", 4}} {
		t.Run(c.act+c.class, func(t *testing.T) {
			t.Parallel()
			b, few := expertsOfBatch(t, c.act, c.class, 768, 8, 1)
			few.Kernels = slices.DeleteFunc(few.Kernels, func(k plan.Kernel) bool { return downOf(&k) == nil })
			if len(few.Kernels) != 1 {
				t.Fatalf("%d kernels", len(few.Kernels))
			}
			e := downOf(&few.Kernels[0])
			source := c.definitions + few.Metal()
			arrive := fmt.Sprintf(`    threadgroup_barrier(mem_flags::mem_device);
    for (uint i = lane; slice == 0u && i < %du; i += 32u) ((device uchar *)s.inputs.x.base)[i] ^= 0x5a;
    threadgroup_barrier(mem_flags::mem_device);
`, 16*e.K*e.Cols*c.bytes)
			for name, by := range map[string]string{
				"":                    arrive + strings.Replace(before, "    GRID_WAIT;\n", "", 1) + send,
				"inputs loaded early": strings.Replace(before, "    GRID_WAIT;\n", "", 1) + send + arrive,
			} {
				changed := strings.Replace(source, before+send, by, 1)
				if changed == source {
					t.Fatal("the source has no such text")
				}
				l := &lateInputs{newLauncher(t, changed, execute.Fast), e.In.Slot}
				wrong := 0
				cases := casesOf(t, b, few)
				for i := range cases {
					if r := cases[i].Check(l); !r.OK() {
						if wrong++; name == "" {
							t.Error(r.Problem())
						}
					}
				}
				if name != "" && wrong != len(cases) {
					t.Errorf("%s: found in %d of %d cases", name, wrong, len(cases))
				}
			}
		})
	}
}

// downOf is a kernel's down projection of all rows' experts; nil: it has none.
func downOf(k *plan.Kernel) *plan.Experts {
	for _, p := range k.Parts {
		if e, ok := p.(*plan.Experts); ok && e.Early() {
			return e
		}
	}
	return nil
}

// lateInputs launches kernels whose inputs are other bytes until they make them right.
type lateInputs struct {
	*launcher
	slot int
}

func (l *lateInputs) Launch(c *device.Launch) error {
	late := *c
	late.Buffers = slices.Clone(c.Buffers)
	late.Buffers[l.slot] = make([]byte, len(c.Buffers[l.slot]))
	for i, v := range c.Buffers[l.slot] {
		late.Buffers[l.slot][i] = v ^ 0x5a
	}
	return l.launcher.Launch(&late)
}
