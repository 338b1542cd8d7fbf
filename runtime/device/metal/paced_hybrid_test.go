package metal_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// hybridBundle returns the bundle of a file with linear attention, compiled for Macs.
func hybridBundle(p *pacing) ([]*plan.Bundle, error) {
	f, err := gguf.Open(filepath.Join(reference.Folder, p.File+".gguf"))
	if err != nil {
		return nil, err
	}
	text, err := initspec.Generate(f, "hybrid.yaml")
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	s, err := spec.Parse("hybrid.yaml", text)
	if err != nil {
		return nil, err
	}
	b, err := gen.Compile(s.WithSequences(1, 16, 24).WithClass(plan.ClassApple), nil)
	return []*plan.Bundle{b}, err
}

// hybridRun is a prompt of a model with linear attention, whose rows are folded into a state.
type hybridRun struct {
	name string
	pacing
	env   []string
	first int // command buffer that is ended
	step  int // to the next one, up to the last; 0: no other one is ended
}

const kimiMini = "../hybrid/kimi-linear-mini-Q4_0"

// hybridRuns lists the runs of the fast tier; the deep tier has more.
var hybridRuns = []hybridRun{
	{"the second unit", pacing{File: kimiMini, Width: 24, Units: 3, Replay: "icb", Bundle: "hybrid", Sessions: 3}, nil, 40, 0},
}

// TestPacedHybrids checks a model with linear attention when the system ends one of its command buffers, at
// any place. Its bits are those of an undisturbed run: no row is folded into a state twice, and the sessions
// of other rows keep their states.
func TestPacedHybrids(t *testing.T) {
	library(t)
	for _, tt := range hybridRuns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := pacedChild{pacing: tt.pacing, env: tt.env}
			c.Slow, c.Budget = c.small(), 45*time.Millisecond
			want, err := c.run(t)
			hash, rest, _ := strings.Cut(want, " ")
			if err != nil || !strings.HasPrefix(rest, "45ms false, ") {
				t.Fatalf("%v\n%s", err, want)
			}
			n := tt.first
			if !c.ended(t, n, hash) {
				t.Fatalf("there is no command buffer %d", n)
			}
			if tt.step == 0 {
				return
			}
			for n += tt.step; c.ended(t, n, hash); n += tt.step {
			}
			for n--; !c.ended(t, n, hash); n-- { // the last one
			}
			if n < tt.first+3*tt.step {
				t.Errorf("the last command buffer is number %d", n)
			}
		})
	}
}

// ended reports whether there is a command buffer n. It checks that the logits have the expected hash if the
// system ends this command buffer, at any place.
func (c pacedChild) ended(t *testing.T, n int, hash string) bool {
	t.Helper()
	c.Cache = filepath.Join(t.TempDir(), "cache")
	c.env = append([]string{fmt.Sprintf("METALSIM_FAULT=replay:%d", n), fmt.Sprintf("METALSIM_SEED=%d", n)}, c.env...)
	got, err := c.run(t)
	rest, ok := strings.CutPrefix(got, hash+" ")
	is := strings.HasPrefix(rest, "22.5ms true, ")
	kept, _ := filepath.Glob(filepath.Join(c.Cache, string(trust.Budget)+"-*"))
	if err != nil || !ok || !is && !strings.HasPrefix(rest, "45ms false, ") || (len(kept) == 1) != is {
		t.Fatalf("command buffer %d is ended: %v: %s, verdicts %v; expected the bits %s", n, err, got, kept, hash)
	}
	return is
}
