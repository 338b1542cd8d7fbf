//go:build linux

package endtoend_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/msl"
	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/plan/planfuzz"
)

var (
	plans = flag.Int("plans", 1, "hostile plans that TestHostilePlans runs")
	seed  = flag.Uint64("seed", 1, "of the first of them")
)

// TestHostilePlans runs bundle files of changed plans that package verify accepts, with the kernels that these describe,
// on the simulator of Metal, which ends a process whose kernels touch memory outside of their bindings.
func TestHostilePlans(t *testing.T) {
	t.Parallel()
	const name = "yoututiny"
	for s, ran := *seed, 0; ran < *plans; s++ {
		b, what, err := planfuzz.Accepted(rand.New(rand.NewPCG(s, 3)), ofOneRow(t, name), 6)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			continue
		}
		if b.Source, err = msl.Print(b, ""); err != nil {
			continue // nobody can have such kernels
		}
		spec, err := os.ReadFile(root + "specs/" + b.Spec)
		if err != nil {
			continue // its name has been changed
		}
		data, err := bundlefile.Encode(&bundlefile.File{Spec: spec, Bundles: []*plan.Bundle{b}})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", s, what, err)
		}
		path := filepath.Join(t.TempDir(), "hostile.mla")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := host.command([]string{"METALSIM_STRICT=1"}, []string{"greedy", "-q", "-device", "metal", "-metal-lib", host.lib, "-replay", "icb",
			"-m", root + planfuzz.Files[name], "-bundle", path, "-tokens", "3,40,200", "-n", "2", "-width", "1"})
		if strings.Contains(o.stderr, "RULE") || strings.Contains(o.stderr, "goroutine ") {
			t.Errorf("seed %d, %s: %v\n%s", s, what, o.err, o.stderr)
		}
		ran++
	}
}

// ofOneRow is a bundle without its sequences of several rows: their kernels take long to compile.
func ofOneRow(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	for _, b := range generated.Bundles() {
		if b.Name == name {
			one := *b
			one.Sequences, one.Pick, one.PickBytes, one.SourceHash = one.Sequences[:1], nil, 0, ""
			return &one
		}
	}
	t.Fatalf("no bundle %s", name)
	return nil
}
