package replay_test

import (
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
	"mla/tools/tests/deep"
)

// TestBarriers compares the plan's barriers with the bytes that kernels really load and store. Dispatches
// that no barrier separates must not access bytes that the other stores. A barrier that separates no such
// dispatches is superfluous.
func TestBarriers(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Checked)
	runs := []struct{ file, bundle string }{{"youtu-tiny-F32", ""}, {"glm47-tiny-Q4_0", ""}, {"youtu-mini-Q4_K_M", ""},
		{"glm47-mini-Q4_K_M", ""}, {"dsv2lite-mini-Q4_K_M", ""}}
	if !deep.On {
		runs = runs[:2]
	}
	for _, run := range runs {
		t.Run(run.file+run.bundle, func(t *testing.T) {
			m := bindWish(t, root+"testdata/reference/"+run.file+".gguf", bind.Wish{Bundle: run.bundle})
			b := m.Bundle
			touched := touch(t, record(t, d, m, device.Config{Context: 4, KV: quant.F16}), len(b.Decode().Dispatches))
			start := 0 // of the phase before the barrier
			for i := range b.Decode().Dispatches {
				if b.Decode().Dispatches[i].Barrier {
					if !needed(b, touched, start, i) {
						t.Errorf("dispatch %d (%s): nothing needs its barrier", i, kernelName(b, i))
					}
					start = i
				}
				for j := start; j < i; j++ {
					if c := conflict(touched[j], touched[i]); c != nil {
						t.Errorf("dispatches %d (%s) and %d (%s): no barrier separates them, but both touch %d bytes at %d",
							j, kernelName(b, j), i, kernelName(b, i), c.Bytes, c.Offset)
					}
				}
			}
		})
	}
}

func kernelName(b *plan.Bundle, i int) string { return b.Kernels[b.Decode().Dispatches[i].Kernel].Name }

// touch replays a few tokens and returns the ranges that each dispatch accessed.
func touch(t *testing.T, r *replay.Runner, dispatches int) [][]execute.Range {
	t.Helper()
	touched := make([][]execute.Range, dispatches)
	r.Touched = func(i int, ranges []execute.Range) { touched[i] = append(touched[i], ranges...) }
	for pos, token := range []int32{3, 17, 3} {
		step(t, r, pos, token)
	}
	return touched
}

// needed reports whether a dispatch of the phase that begins with the barrier at
// dispatch at conflicts with one of the phase before, which begins at start.
func needed(b *plan.Bundle, touched [][]execute.Range, start, at int) bool {
	for i := at; i < len(b.Decode().Dispatches) && (i == at || !b.Decode().Dispatches[i].Barrier); i++ {
		for j := start; j < at; j++ {
			if conflict(touched[j], touched[i]) != nil {
				return true
			}
		}
	}
	return false
}

// conflict finds a range of y that overlaps one of x, where one of them is stored.
func conflict(x, y []execute.Range) *execute.Range {
	for _, a := range x {
		for i, b := range y {
			if (a.Store || b.Store) && a.Buffer == b.Buffer && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes {
				return &y[i]
			}
		}
	}
	return nil
}
