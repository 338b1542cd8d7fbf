package gen_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/plan/planfuzz"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// TestHybridHostile changes numbers in hybrid plans at random. A changed plan that verify accepts must access
// no memory outside of the plan's own: the loops of the CPU device panic on such an access.
func TestHybridHostile(t *testing.T) {
	plans := 3
	if deep.On {
		plans = 60
	}
	ran := 0
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		path := filepath.Join("..", "testdata", "hybrid", name+".gguf")
		b := hybridFile(t, path)
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(plans) {
			rng := rand.New(rand.NewPCG(seed, 3))
			hostile, what, err := planfuzz.Accepted(rng, b, 3)
			if err != nil {
				t.Fatal(err)
			}
			if hostile == nil {
				continue
			}
			var panicked *cpu.PanicError
			switch err := runHostile(rng, f, hostile); {
			case errors.As(err, &panicked):
				t.Errorf("%s, seed %d,%s: %v", name, seed, what, err)
			case err == nil:
				ran++
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if ran == 0 {
		t.Errorf("%d of %d plans ran", ran, 2*plans)
	}
}

// runHostile replays rows of two sessions in turns.
func runHostile(rng *rand.Rand, f *gguf.File, b *plan.Bundle) error {
	r := bind.Resolve(f)
	if _, err := r.Choose([]*plan.Bundle{b}, bind.Wish{}); err != nil {
		return err
	}
	m, err := r.Bind(b)
	if err != nil {
		return err
	}
	cfg := device.Config{Context: 64, KV: quant.F32, Width: 16, Tables: 2, Pages: 2, Threads: 2}
	if l, err := m.Layout(cfg); err != nil || l.Bytes() > 1<<28 {
		return errors.Join(err, errors.New("it takes too much memory"))
	}
	run, err := cpu.New().Load(m, cfg)
	if err != nil {
		return err
	}
	for table := range 2 {
		err = errors.Join(err, run.Assign(table, 0, []uint32{uint32(table)}))
	}
	for pos := range uint32(8) {
		var rows []plan.Row
		for table := range uint32(1 + rng.IntN(2)) {
			rows = append(rows, plan.Row{Token: rng.Uint32N(uint32(b.Model.VocabSize)), Pos: pos, NKV: pos + 1, Table: table})
		}
		if err == nil {
			_, err = run.Replay(rows, device.All(len(rows)))
		}
	}
	return errors.Join(err, run.Close())
}
