package metal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
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
	"mla/runtime/text/sample"
	"mla/tools/tests/deep"
)

// pacedCase is the case of TestMain that runs a prompt; its arguments are a pacing.
const pacedCase = "paced"

// pacing describes how a process runs a prompt.
type pacing struct {
	File   string
	Width  int           // rows of a unit
	Units  int           // of the prompt
	Replay string        // metal.Replay
	Slow   float64       // what GPUs are taken to be slower by
	Budget time.Duration // of a command buffer; 0: the usual
	Cache  string        // folder
	Wait   time.Duration
	Bundle string // of pacedBundles
	// Sessions are how many there are; rows of two of them at most are in a unit. 0: one.
	Sessions int
	Steps    int // that the GPU makes by itself after the prompt, in one unit
}

// pacedBundles returns, by name, the bundles for a pacing's file.
var pacedBundles = map[string]func(*pacing) ([]*plan.Bundle, error){
	"":       func(*pacing) ([]*plan.Bundle, error) { return generated.Bundles(), nil },
	"hybrid": hybridBundle,
}

// pacedChild is a simulated GPU that runs a prompt.
type pacedChild struct {
	pacing
	env     []string
	nothing bool // the simulator knows nothing of time
}

// config returns the configuration of the child's runner, which is also the one of the simulator's list of
// kernels.
func (p *pacing) config() device.Config {
	c := device.Config{Context: p.Width*p.Units + p.Steps + reference.LoopContext, KV: quant.F16, Width: p.Width, Tables: max(p.Sessions, 1)}
	c.Pages = plan.Pages(c.Context) * c.Tables
	return c
}

// rows returns the rows of a unit. done is the number of rows that each session has run.
func (p *pacing) rows(unit int, done []int) (rows []plan.Row) {
	for i := range p.Width {
		table := (unit + i*min(len(done), 2)/p.Width) % len(done)
		pos := done[table]
		done[table]++
		row := reference.Step(int32((pos*37+table*11)%383), pos)
		row.Table = uint32(table)
		rows = append(rows, row)
	}
	return rows
}

// small returns how much slower than real GPUs the simulated ones are, so that small models take as long as
// large ones: the longest dispatch takes about 100 ms.
func (p *pacing) small() float64 {
	slower := 3e3 * 24 / float64(max(p.Width, 24))
	if p.Bundle != "" { // of class apple, which multiplies floats once
		slower *= 3
	}
	return slower
}

// run starts the child and returns its output: on success a hash of the bits of all logits.
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

// work writes the simulator's table of the work of each kernel.
func (c *pacedChild) work(t *testing.T) string {
	t.Helper()
	bundles, err := pacedBundles[c.Bundle](&c.pacing)
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

// paced runs a prompt in units. After each unit it prints a hash of the logits and the budget.
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
		bundles, err := pacedBundles[p.Bundle](&p)
		if err != nil {
			return err
		}
		options := metal.Options{Replay: metal.Replay(p.Replay), Cache: p.Cache}
		if p.Wait > 0 {
			options.Note = func(format string, args ...any) { fmt.Printf(format, args...) }
		}
		return withTables(lib, p.File, p.config(), options, func(r device.Runner) error {
			hash, pieces, slices, done := fnv.New64a(), 0, 0, make([]int, p.config().Tables)
			for unit := range p.Units {
				rows := p.rows(unit, done)
				logits, err := r.Replay(rows, []int{0, p.Width - 1})
				if err != nil {
					return err
				}
				pieces, slices = metal.Pieces(r, rows)
				for _, v := range logits {
					fmt.Fprintf(hash, "%08x", math.Float32bits(v))
				}
			}
			if err := p.loop(r, hash); err != nil {
				return err
			}
			budget, rebuilt, slower := metal.Paced(r)
			fmt.Printf("%x %v %v, %d pieces, %d slices, %.5f", hash.Sum64(), budget, rebuilt, pieces, slices, slower)
			return nil
		}, bundles...)
	}
}

// loop makes the GPU continue by itself, and hashes the tokens that it picks.
func (p *pacing) loop(r device.Runner, hash io.Writer) error {
	if p.Steps == 0 {
		return nil
	}
	d := r.(device.Picker)
	if _, err := reference.BeginLoop(d, sample.Off()); err != nil {
		return err
	}
	if err := d.Continue(p.Steps); err != nil {
		return err
	}
	for range p.Steps {
		tokens, err := d.Next()
		if err != nil {
			return err
		}
		fmt.Fprint(hash, tokens)
	}
	return nil
}

// withTables is like with, for several block tables with pages for a whole context each.
func withTables(lib, name string, cfg device.Config, options metal.Options, f func(device.Runner) error, bundles ...*plan.Bundle) error {
	m, done, err := reference.Bind(name, bundles, "f32")
	if err != nil {
		return err
	}
	options.Library = lib
	d, err := metal.Open(options)
	if err != nil {
		return err
	}
	r, err := d.Load(m, cfg)
	if err != nil {
		return err
	}
	each := uint32(plan.Pages(cfg.Context))
	for table := range cfg.Tables {
		pages := make([]uint32, each)
		for i := range pages {
			pages[i] = uint32(table)*each + uint32(i)
		}
		if err := r.Assign(table, 0, pages); err != nil {
			return err
		}
	}
	return errors.Join(f(r), r.Close(), done())
}

// pacedRun is a run in pieces whose bits must be those of one command buffer.
type pacedRun struct {
	name string
	pacing
	env    []string
	slices bool // there are parts of dispatches
}

// pacedRuns lists the runs of the fast tier; the deep tier has more.
var pacedRuns = []pacedRun{
	{"a prompt, ICB", pacing{File: "youtu-mini-Q4_0", Width: 24, Units: 6, Replay: "icb"}, nil, true},
}

// TestPaced checks that a prompt in pieces has the bits of one command buffer, and stays within limits that
// one command buffer would exceed. A piece that the system ends once runs again in shorter pieces. After the
// second time the run ends with a helpful message and leaves a verdict for the next run.
func TestPaced(t *testing.T) {
	library(t) // built, once for all
	for _, tt := range pacedRuns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := pacedChild{pacing: tt.pacing, env: tt.env, nothing: true}
			whole.Budget = time.Hour
			want, err := whole.run(t)
			hash, rest, ok := strings.Cut(want, " ")
			if err != nil || !ok || !strings.HasPrefix(rest, "1h0m0s false, 1 pieces, 0 slices, ") {
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
				var slower float64 // the simulator's model adds what dispatches take beside their work
				t.Log(got)
				if _, err := fmt.Sscanf(got, hash+" 45ms false, %d pieces, %d slices, %f", &pieces, &slices, &slower); err != nil || pieces < 5 || (slices > 3) != tt.slices || !(slower > 0.99 && slower < 1.02) {
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

// pacedKernels returns the setting of the fast tier: kernels that take no time and compute zeros.
func pacedKernels() []string {
	if deep.On {
		return []string{"METALSIM_KERNELS=fast"}
	}
	return []string{"METALSIM_KERNELS=stub"}
}

// TestPacedSteps checks that the steps which a GPU makes by itself share a command buffer while there is
// time, also more steps than a queue holds, and that they pick the same tokens as one command buffer.
func TestPacedSteps(t *testing.T) {
	library(t)
	c := pacedChild{pacing: pacing{File: "youtu-mini-Q4_0", Width: 1, Steps: 40, Replay: "icb"}, env: pacedKernels(), nothing: true}
	c.Budget = time.Hour
	want, err := c.run(t)
	if err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	hash, _, _ := strings.Cut(want, " ")
	c.nothing, c.Slow = false, c.small()
	if got, err := c.run(t); err == nil || !strings.Contains(got, "macOS ends what keeps the GPU busy for long") {
		t.Errorf("one command buffer: %v: %s", err, got)
	}
	c.Budget = 45 * time.Millisecond
	if got, err := c.run(t); err != nil || !strings.HasPrefix(got, hash+" 45ms false, ") {
		t.Errorf("several: %v: %s; expected %s", err, got, hash)
	}
}

// TestPacedFaults checks GPUs that are slower than predicted, and one that hangs.
func TestPacedFaults(t *testing.T) {
	library(t)
	prompt := pacing{File: "youtu-mini-Q4_0", Width: 24, Units: 4, Replay: "icb"}
	prompt.Slow = prompt.small()
	kernels := pacedKernels()
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
		{"a wait that never ends", 1, []string{"METALSIM_FAULT=wait-hang:3", "METALSIM_STRICT=0"}, time.Second, "the GPU's commands have not ended after 100ms; after 1s the program gives up\nthe GPU's commands have not ended after 1s; the GPU or its driver hangs", 0, true},
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
