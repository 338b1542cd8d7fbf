package cpu_test

import (
	"math"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestInBatches checks rows that are too few to expand heads: run in batches they have the same logits as in
// one replay, in the same order. Both forms round in their own order, so the tolerance is that of the
// reference logits.
func TestInBatches(t *testing.T) {
	m, done, err := reference.Bind("youtu-mini-Q4_0", generated.Bundles(), "f32")
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]plan.Row, 23)
	for i := range rows {
		rows[i] = plan.Row{Token: uint32(7 * i), Pos: uint32(i), NKV: uint32(i + 1)}
	}
	run := func(wanted []int) []float32 {
		r, err := cpu.New().Load(m, device.Config{Context: 64, Width: 24, KV: quant.F32, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Assign(0, 0, []uint32{0}); err != nil {
			t.Fatal(err)
		}
		logits, err := r.Replay(rows, wanted)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(logits)
	}
	for _, wanted := range [][]int{{3, 15, 16, 22}, {20}, {2}} {
		want := run(wanted)
		undo := cpu.RunInBatches()
		got := run(wanted)
		undo()
		if len(got) != len(wanted)*m.Bundle.Model.VocabSize || slices.Equal(got, want) {
			t.Errorf("%v: %d logits, or the bits of one replay: batches attend to latent rows", wanted, len(got))
		}
		for i := range got {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-3) {
				t.Fatalf("%v: logit %d is %g; together %g", wanted, i, got[i], want[i])
			}
		}
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}
