package metal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// pacedCase is the case of TestMain that runs a prompt; its arguments are a pacing.
const pacedCase = "paced"

// pacing is how a process runs a prompt.
type pacing struct {
	File   string
	Width  int           // rows of a unit
	Units  int           // of the prompt
	Replay string        // metal.Replay
	Slow   float64       // what GPUs are taken to be slower by
	Budget time.Duration // of a command buffer; 0: the usual
	Cache  string        // folder
	Wait   time.Duration
	Wide   bool // the bundle has sequences of 64 and 512 rows
}

// pacedBundles are those that a pacing's file is run by.
var pacedBundles = func(*pacing) ([]*plan.Bundle, error) { return generated.Bundles(), nil }

// pacedChild is a simulated GPU that runs a prompt.
type pacedChild struct {
	pacing
	env     []string
	nothing bool // the simulator knows nothing of time
}

// config is what the child's runner is loaded for, and that the simulator's kernels are listed for.
func (p *pacing) config() device.Config {
	return device.Config{Context: p.Width * p.Units, KV: quant.F16, Width: p.Width}
}

// small is how much slower GPUs are taken to be, so that small models take as long as large ones do:
// the longest dispatch some 100 ms.
func (p *pacing) small() float64 { return 3e3 * 24 / float64(max(p.Width, 24)) }

// run starts the child, and returns what it says: on success a hash of all logits' bits.
func (c *pacedChild) run(t *testing.T) (said string, err error) {
	t.Helper()
	arguments, err := json.Marshal(c.pacing)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), caseVariable+"="+pacedCase+" ? "+string(arguments)+"|"+library(t), "METALSIM_KERNELS=fast", "METALSIM_STRICT=1")
	if !c.nothing {
		cmd.Env = append(cmd.Env, "METALSIM_WORK="+c.work(t), fmt.Sprintf("METALSIM_SPEED=%g", 100/c.small()))
	}
	cmd.Env = append(cmd.Env, c.env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(head(out))), err
}

// work writes the simulator's table of what kernels do.
func (c *pacedChild) work(t *testing.T) string {
	t.Helper()
	bundles, err := pacedBundles(&c.pacing)
	if err != nil {
		t.Fatal(err)
	}
	m, done, err := reference.Bind(c.File, bundles, "f32")
	if err != nil {
		t.Fatal(err)
	}
	text, err := metal.Work(m, c.config(), "")
	if err != nil || done() != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "work.tsv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// paced runs a prompt in units, and prints a hash of the logits after each, with what became of
// the budget.
func paced(arguments string) func(string) error {
	return func(lib string) error {
		var p pacing
		if err := json.Unmarshal([]byte(arguments), &p); err != nil {
			return err
		}
		if p.Slow > 0 {
			metal.SlowChips(p.Slow)
		}
		if p.Budget > 0 {
			metal.SetBudget(p.Budget)
		}
		if p.Wait > 0 {
			metal.SetWaitLimit(p.Wait)
		}
		bundles, err := pacedBundles(&p)
		if err != nil {
			return err
		}
		options := metal.Options{Replay: metal.Replay(p.Replay), Cache: p.Cache}
		return with(lib, p.File, p.config(), options, func(r device.Runner) error {
			hash, pieces, slices := fnv.New64a(), 0, 0
			for unit := range p.Units {
				var rows []plan.Row
				for i := range p.Width {
					pos := unit*p.Width + i
					rows = append(rows, reference.Step(int32(pos*37%499), pos))
				}
				logits, err := r.Replay(rows, []int{0, p.Width - 1})
				if err != nil {
					return err
				}
				pieces, slices = metal.Pieces(r, rows)
				for _, v := range logits {
					fmt.Fprintf(hash, "%08x", math.Float32bits(v))
				}
			}
			budget, rebuilt := metal.Paced(r)
			fmt.Printf("%x %v %v, %d pieces, %d slices", hash.Sum64(), budget, rebuilt, pieces, slices)
			return nil
		}, bundles...)
	}
}

// pacedRun is a run whose bits in pieces are those of one command buffer.
type pacedRun struct {
	name string
	pacing
	env    []string
	slices bool // there are parts of dispatches
}

// pacedRuns are those of the fast tier; the deep tier has more.
var pacedRuns = []pacedRun{
	{"a prompt, ICB", pacing{File: "youtu-mini-Q4_0", Width: 24, Units: 6, Replay: "icb"}, nil, true},
}

// TestPaced: what is cut into pieces has the bits of one command buffer, and stays within limits
// that one does not; what is ended once is run again in shorter pieces, and what is ended twice
// ends with a sentence that helps, and a verdict for the next run.
func TestPaced(t *testing.T) {
	library(t) // built, once for all
	for _, tt := range pacedRuns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := pacedChild{pacing: tt.pacing, env: tt.env, nothing: true}
			whole.Budget = time.Hour
			want, err := whole.run(t)
			hash, rest, ok := strings.Cut(want, " ")
			if err != nil || !ok || rest != "1h0m0s false, 1 pieces, 0 slices" {
				t.Fatalf("%v\n%s", err, want)
			}
			t.Run("cut", func(t *testing.T) {
				c := pacedChild{pacing: tt.pacing, env: tt.env}
				c.Slow, c.Budget = c.small(), 45*time.Millisecond
				got, err := c.run(t)
				if err != nil || !strings.HasPrefix(got, hash+" 45ms false, ") {
					t.Fatalf("%v: %s; expected the bits of one command buffer, %s", err, got, hash)
				}
				var pieces, slices int
				if _, err := fmt.Sscanf(got, hash+" 45ms false, %d pieces, %d slices", &pieces, &slices); err != nil || pieces < 5 || (slices > 3) != tt.slices {
					t.Errorf("%v: %s", err, got)
				}
			})
			t.Run("whole", func(t *testing.T) {
				c := pacedChild{pacing: whole.pacing, env: tt.env}
				c.Slow = c.small()
				if got, err := c.run(t); err == nil || !strings.Contains(got, "macOS ends what keeps the GPU busy for long") {
					t.Errorf("%v: %s", err, got)
				}
			})
		})
	}
}

// TestPacedFaults has GPUs that are slower than they are taken to be, and one that hangs.
func TestPacedFaults(t *testing.T) {
	library(t)
	prompt := pacing{File: "youtu-mini-Q4_0", Width: 24, Units: 4, Replay: "icb"}
	prompt.Slow = prompt.small()
	kernels := []string{"METALSIM_KERNELS=stub"} // which take no time, and compute zeros
	if deep.On {
		kernels = []string{"METALSIM_KERNELS=fast"}
	}
	c := pacedChild{pacing: prompt, env: kernels}
	want, err := c.run(t)
	hash, _, _ := strings.Cut(want, " ")
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	for _, tt := range []struct {
		name   string
		slower float64 // than predicted
		env    []string
		wait   time.Duration
		want   string // said
		budget int    // milliseconds that are kept; 0: none
		fails  bool
	}{
		{"three times slower", 3, nil, 0, hash + " 150ms false, ", 0, false},
		{"ended once", 11, nil, 0, hash + " 75ms true, ", 75, false},
		{"ended twice", 60, nil, 0, "(code 14): macOS ends what keeps the GPU busy for long, also after the GPU was opened anew, and then may refuse this program everything. Start it again: command buffers get at most 37.5ms from now on", 37, true},
		{"refused for ever", 1, []string{"METALSIM_FAULT=lost:2"}, 0, "the device was lost (code 4): macOS ends", 37, true},
		{"another error", 1, []string{"METALSIM_FAULT=replay:2"}, 0, hash + " 75ms true, ", 75, false}, // code 2
		{"a wait that never ends", 1, []string{"METALSIM_FAULT=wait-hang:3", "METALSIM_STRICT=0"}, time.Second, "the GPU's commands have not ended after 1s", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := pacedChild{pacing: prompt, env: append(kernels, tt.env...)}
			c.Slow, c.Cache, c.Wait = c.small()/tt.slower, filepath.Join(t.TempDir(), "cache"), tt.wait
			got, err := c.run(t)
			if !strings.Contains(got, tt.want) || (err != nil) != tt.fails || bytes.Contains([]byte(got), []byte("[metalsim]")) {
				t.Errorf("%v: %s\nexpected %s", err, got, tt.want)
			}
			kept, _ := filepath.Glob(filepath.Join(c.Cache, string(trust.Budget)+"-*"))
			if len(kept) != min(tt.budget, 1) {
				t.Fatalf("verdicts: %v", kept)
			}
			if len(kept) > 0 {
				text, err := os.ReadFile(kept[0])
				if want := fmt.Sprintf(`"milliseconds": %d`, tt.budget); err != nil || !bytes.Contains(text, []byte(want)) {
					t.Errorf("%v: %s; expected %s", err, text, want)
				}
			}
		})
	}
}
