package replay_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/plan/planfuzz"
	"mla/runtime/quant"
	"mla/sim/replay"
)

var (
	plans = flag.Int("plans", 0, "hostile plans of each bundle that TestHostilePlans runs; 0: one of the smallest bundle")
	seed  = flag.Uint64("seed", 1, "of the first of them")
)

// TestHostilePlans prints the kernels of changed plans that package verify accepts, and runs them where every load and
// store is checked: kernels that do what such a plan says touch nothing else. A part twice in a kernel and the like may
// be accepted by mistake; then threadgroups race, which is found too. Kernels that cannot be printed run nowhere.
func TestHostilePlans(t *testing.T) {
	t.Parallel()
	for _, b := range generated.Bundles() {
		path, ok := planfuzz.Files[b.Name]
		if !ok || *plans == 0 && b.Name != "yoututiny" {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			file, err := gguf.Open(root + path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for s, ran := *seed, 0; ran < max(*plans, 1) && !t.Failed(); s++ {
				next, what, err := planfuzz.Accepted(rand.New(rand.NewPCG(s, 2)), b, 8)
				if err != nil {
					t.Fatal(err)
				}
				if next == nil || print(next) != nil {
					continue
				}
				done, err := runHostile(file, next)
				if fault := (*execute.Fault)(nil); errors.As(err, &fault) && fault.Rule != "uninitialised" {
					t.Errorf("seed %d, %s: %v", s, what, err)
				}
				if done {
					ran++
				}
			}
		})
	}
}

// TestLiarsFault: kernels of a plan that lies about who made its indices leave their memory, and the executor sees it.
// So TestHostilePlans would see it.
func TestLiarsFault(t *testing.T) {
	t.Parallel()
	file, err := gguf.Open(root + planfuzz.Files["glm47tiny"])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b, err := planfuzz.Copy(bundle(t, "glm47tiny"))
	if err != nil {
		t.Fatal(err)
	}
	if l := planfuzz.Liars[0]; !l.Tell(b) {
		t.Fatalf("%s: nothing to lie about", l.Name)
	}
	b.Sequences, b.Pick, b.PickBytes = b.Sequences[:1], nil, 0
	text, err := msl.Print(bundle(t, "glm47tiny"), "") // the printer refuses the liar's kernels
	if err != nil {
		t.Fatal(err)
	}
	b.Source, b.SourceHash = text, ""
	_, err = runHostile(file, b)
	if fault := (*execute.Fault)(nil); !errors.As(err, &fault) || fault.Rule != "out-of-bounds" {
		t.Errorf("%v; want a fault out of bounds", err)
	}
}

// print gives a bundle the kernels that its plan describes. Those that none of its sequences of few rows needs are left
// out: they take long to compile.
func print(b *plan.Bundle) error {
	b.Sequences = slices.DeleteFunc(b.Sequences, func(q plan.Sequence) bool { return q.Width > 24 })
	used := map[int]bool{}
	for _, q := range b.Sequences {
		for _, d := range q.Dispatches {
			used[d.Kernel] = true
		}
	}
	some := *b
	some.Kernels = nil
	for i := range b.Kernels {
		if used[i] {
			some.Kernels = append(some.Kernels, b.Kernels[i])
		}
	}
	text, err := msl.Print(&some, "")
	b.Source, b.SourceHash = text, ""
	return err
}

// runHostile replays rows one at a time, then several.
func runHostile(file *gguf.File, b *plan.Bundle) (ran bool, err error) {
	if _, err := bind.Choose(file, []*plan.Bundle{b}, bind.Wish{}); err != nil {
		return false, err
	}
	m, err := bind.Bind(file, b)
	if err != nil {
		return false, err
	}
	cfg := device.Config{Context: 80, KV: quant.F32, Width: 24}
	if l, err := m.Layout(cfg); err != nil || l.Bytes() > 1<<28 {
		return false, err
	}
	d := replay.New(execute.Checked)
	defer d.Close()
	r, err := device.LoadSingle(d, m, cfg)
	if err != nil {
		return false, err
	}
	var rows []plan.Row
	for pos, token := range []uint32{3, 40, 200, 7, 9, 11, 3, 40} {
		rows = append(rows, plan.Row{Token: token, Pos: uint32(pos), NKV: uint32(pos) + 1})
	}
	if _, err = r.Replay(rows[:1], device.All(1)); err == nil && r.Width() > 1 {
		_, err = r.Replay(rows[1:min(len(rows), 1+r.Width())], device.All(1))
	}
	return true, err
}
