//go:build unix

package cpu_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/plan/planfuzz"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
	"mla/tools/tests/race"
)

var (
	plans = flag.Int("plans", 60, "hostile plans of each bundle in TestHostilePlans")
	seed  = flag.Uint64("seed", 1, "of the first of them")
)

// TestHostilePlans changes plans at random and runs those that package verify accepts, on the CPU device
// between guard pages. The numbers of a plan control the device's loops. A replay may fail, but it must not
// touch other memory or panic.
func TestHostilePlans(t *testing.T) {
	plans := race.Rounds(*plans)
	for _, b := range generated.Bundles() {
		path, ok := planfuzz.Files[b.Name]
		if !ok {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			file := open(t, path)
			count := map[string]int{}
			for done, s := 0, *seed; done < plans && !t.Failed(); s++ {
				done += mutants(t, file, b, rand.New(rand.NewPCG(s, 1)), plans-done, count)
			}
			t.Log(count)
			if count["ran"] == 0 || count["refused"] == 0 || count["ran"] > plans*9/10 {
				t.Errorf("of %d plans: %v", plans, count)
			}
		})
	}
}

func open(t *testing.T, path string) *gguf.File {
	t.Helper()
	file, err := gguf.Open("../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// mutants changes a plan up to 40 times, runs every plan that is accepted, and returns the number of plans it
// made. Every fourth chain begins with a lie.
func mutants(t *testing.T, file *gguf.File, b *plan.Bundle, rng *rand.Rand, most int, count map[string]int) (n int) {
	var done []string
	for n = range min(most, 40) {
		next, err := planfuzz.Copy(b)
		if err != nil {
			t.Fatal(err)
		}
		var now []string
		if n == 0 && rng.IntN(4) == 0 {
			l := planfuzz.Liars[rng.IntN(len(planfuzz.Liars))]
			l.Tell(next)
			now = append(now, l.Name)
		}
		for range 1 + rng.IntN(3)*rng.IntN(2) {
			now = append(now, planfuzz.Mutate(rng, next))
		}
		if verify.Bundle(next) != nil {
			count["refused"]++
			continue
		}
		what := fmt.Sprint(b.Name, ": ", done, now)
		stage, err := run(t, what, rng, file, next)
		count[stage]++
		if unsafeFailure(err) {
			t.Errorf("%s: %v", what, err)
		}
		if t.Failed() {
			return n + 1
		}
		if stage == "ran" || stage == "failed" {
			b, done = next, append(done, now...)
		}
	}
	return n + 1
}

// unsafeFailure reports whether an error stands for a panic or for a read or write of missing memory.
func unsafeFailure(err error) bool {
	var panicked *cpu.PanicError
	var lost *gguf.LostError
	return errors.As(err, &panicked) || errors.As(err, &lost)
}

// run replays some rows of a plan between guard pages, and returns the last stage that it reached.
func run(t *testing.T, what string, rng *rand.Rand, file *gguf.File, b *plan.Bundle) (stage string, err error) {
	defer cpu.Guard(t)()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v\n%s", what, p, debug.Stack())
		}
	}()
	if _, err := bind.Resolve(file).Choose([]*plan.Bundle{b}, bind.Wish{}); err != nil {
		return "unbound", err
	}
	m, err := bind.Resolve(file).Bind(b)
	if err != nil {
		return "unbound", err
	}
	cfg := configuration(rng, b)
	if l, err := m.Layout(cfg); err != nil || l.Bytes() > 1<<28 {
		return "unloaded", err
	}
	r, err := cpu.New().Load(m, cfg)
	if err != nil {
		return "unloaded", err
	}
	defer r.Close()
	if err := replays(rng, r, b, cfg); err != nil {
		return "failed", err
	}
	return "ran", nil
}

// configuration returns a random configuration that mlarun could ask for.
func configuration(rng *rand.Rand, b *plan.Bundle) device.Config {
	c := device.Config{
		Context: []int{40, 130, 200}[rng.IntN(3)], KV: []quant.Type{quant.F32, quant.F16, quant.Q8_0}[rng.IntN(3)],
		Width: []int{1, 2, 4, 16, 16, 64, 512}[rng.IntN(7)], Threads: 1 + rng.IntN(3), Tables: 1 + rng.IntN(3),
	}
	c.Int8 = rng.IntN(4) == 0 && cpu.New().(device.Int8er).Int8(b) == nil
	c.Pages = c.Tables * plan.Pages(c.Context)
	return c
}

// replays runs rows of all sessions.
func replays(rng *rand.Rand, r device.Runner, b *plan.Bundle, c device.Config) error {
	pages := plan.Pages(c.Context)
	for table := range c.Tables {
		var list []uint32
		for p := range pages {
			list = append(list, uint32(table*pages+p))
		}
		if err := r.Assign(table, 0, list); err != nil {
			return err
		}
	}
	next := make([]uint32, c.Tables)
	for range 4 {
		var rows []plan.Row
		n := 1 + rng.IntN(r.Width())
		for i := range n {
			table := i * c.Tables / n
			if pos := next[table]; int(pos) < c.Context {
				rows = append(rows, plan.Row{Token: rng.Uint32N(uint32(b.Model.VocabSize)), Pos: pos, NKV: pos + 1, Table: uint32(table)})
				next[table]++
			}
		}
		if len(rows) == 0 {
			return nil
		}
		if _, err := r.Replay(rows, device.All(min(len(rows), rng.IntN(plan.DefaultBatch+1)))); err != nil {
			return err
		}
	}
	return nil
}

// TestLiars checks that package verify refuses plans that lie, and that the CPU device survives these plans
// unverified. Several workers run them repeatedly, because the effect depends on which worker comes first.
func TestLiars(t *testing.T) {
	for _, b := range generated.Bundles() {
		path, ok := planfuzz.Files[b.Name]
		if !ok {
			continue
		}
		file := open(t, path)
		for i, l := range planfuzz.Liars {
			liar, err := planfuzz.Copy(b)
			if err != nil {
				t.Fatal(err)
			}
			if !l.Tell(liar) {
				continue
			}
			if verify.Bundle(liar) == nil {
				t.Errorf("%s, bundle %s: accepted", l.Name, b.Name)
			}
			for s := range uint64(max(1, race.Rounds(3))) {
				if _, err := run(t, l.Name, rand.New(rand.NewPCG(s, uint64(i))), file, liar); unsafeFailure(err) {
					t.Errorf("%s, bundle %s: %v", l.Name, b.Name, err)
				}
			}
		}
	}
}
