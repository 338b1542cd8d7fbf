//go:build deep

package replay_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
)

// TestFewRows checks that two rows in one batch have the same logits as alone, to the bit. They run in the
// narrowest sequence that holds them, whose dense kernels are those of one row, and whose experts sum in the
// same order.
func TestFewRows(t *testing.T) {
	t.Parallel()
	sim := newDevice(t, execute.Fast)
	for _, c := range []struct{ spec, name string }{{"glm47tiny", "glm47-tiny-Q4_0"}, {"youtumini", "youtu-mini-Q4_0"}} {
		stem := root + "testdata/reference/" + c.name
		ref, m := read(t, stem), bindTo(t, stem+".gguf", []*plan.Bundle{compile(t, c.spec, "", 0, 1, 2)}, bind.Wish{Act: "f32"})
		for _, d := range []device.Device{sim, cpu.New()} {
			t.Run(c.name+"/"+d.Name(), func(t *testing.T) {
				r, err := d.Load(m, device.Config{Context: plan.PageRows, Tables: 2, Pages: 2, Width: 2, KV: quant.F32, Threads: 2})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				for table := range 2 {
					if err := r.Assign(table, 0, []uint32{uint32(table)}); err != nil {
						t.Fatal(err)
					}
				}
				alone := ranRows(t, r, ref, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
				if few := ranRows(t, r, ref, 1, 2, 1, 2, 1, 2, 2); !slices.Equal(few, alone) {
					t.Error("rows in one batch have other logits than alone")
				}
			})
		}
	}
}

// ranRows runs rows of the prompt in a block table, a given number of them in each replay, and returns their logits.
// A device that counts kernels must have run those of the narrowest sequence.
func ranRows(t *testing.T, r device.Runner, ref *reference.Reference, table int, widths ...int) (bits []uint32) {
	t.Helper()
	at := 0
	for _, n := range widths {
		var rows []plan.Row
		var wanted []int
		for i := range n {
			row := reference.Step(ref.Prompt[at+i], at+i)
			row.Table = uint32(table)
			rows, wanted = append(rows, row), append(wanted, i)
		}
		at += n
		before := launches(r)
		logits, err := r.Replay(rows, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if after := launches(r); after != nil {
			for width := range after {
				if ran := after[width] > before[width]; ran != (width == n) {
					t.Errorf("%d rows: kernels of %d rows ran: %t", n, width, ran)
				}
			}
		}
		for _, l := range logits {
			bits = append(bits, math.Float32bits(l))
		}
	}
	return bits
}

// launches counts those of kernels of each width; nil if the device does not.
func launches(r device.Runner) map[int]int {
	sim, ok := r.(*replay.Runner)
	if !ok {
		return nil
	}
	counts := map[int]int{1: 0, 2: 0, 4: 0}
	for name, n := range sim.Used {
		width := 1
		for _, w := range []int{2, 4} {
			if strings.Contains(name+"_", fmt.Sprintf("_x%d_", w)) {
				width = w
			}
		}
		counts[width] += n
	}
	return counts
}
