package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/tools/tests/deep"
)

// slowVariable makes the CPU of a process slow: the simulated GPU is slower than any real one.
// patienceVariable is how long a trial may take there, and kernelsVariable how long it may compare
// kernels.
const (
	slowVariable     = "MLARUN_TEST_SLOW_CPU"
	patienceVariable = "MLARUN_TEST_PATIENCE"
	kernelsVariable  = "MLARUN_TEST_KERNELS"
)

// slowCPU is the CPU with a pause in front of the last tokens of a long context, which are those
// that a trial takes the time of.
type slowCPU struct{ device.Device }

func (d slowCPU) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := d.Device.Load(m, cfg)
	return slowRunner{r, cfg.Context}, err
}

type slowRunner struct {
	device.Runner
	context int
}

func (r slowRunner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if r.context > 100 && len(rows) == 1 && int(rows[0].Pos) >= r.context-16 {
		time.Sleep(3 * time.Second)
	}
	return r.Runner.Replay(rows, wanted)
}

// autoRig runs mlarun with -device auto on a simulated GPU.
type autoRig struct{ lib, cache, children, want string }

const autoLine = "greedy -tokens 3,40,200,7 -n 4 -ahead 0 -kv f32 -replay encode -model " + references + "youtu-tiny-F32.gguf"

func newAutoRig(t *testing.T) *autoRig {
	t.Helper()
	cpu := mlarun("", strings.Fields(autoLine+" -device cpu")...)
	if cpu.code != exitOK {
		t.Fatal(cpu.err)
	}
	folder := t.TempDir()
	return &autoRig{lib: simulator(t), cache: filepath.Join(folder, "cache"), children: filepath.Join(folder, "children"), want: cpu.out}
}

// run fails unless a command prints the CPU's tokens, starts the given number of children, and says
// the texts on stderr.
func (r *autoRig) run(t *testing.T, children int, variables []string, more string, want ...string) {
	t.Helper()
	before, _ := os.ReadFile(r.children) // there is none at first
	variables = append([]string{"METALSIM_KERNELS=fast", kernelsVariable + "=" + map[bool]string{true: "20s", false: "1s"}[deep.On], "XDG_CACHE_HOME=" + r.cache, childrenVariable + "=" + r.children}, variables...)
	got := process(t, variables, append(append(strings.Fields(autoLine), "-metal-lib", r.lib), strings.Fields(more)...)...)
	if got.code != exitOK || got.out != r.want {
		t.Fatalf("exit code %d, %q; expected %q\n%s", got.code, got.out, r.want, got.err)
	}
	after, _ := os.ReadFile(r.children)
	if n := bytes.Count(after, []byte("\n")) - bytes.Count(before, []byte("\n")); n != children {
		t.Errorf("%d processes; expected %d\n%s", n, children, got.err)
	}
	for _, w := range want {
		if !strings.Contains(got.err, w) {
			t.Errorf("no %q in %q", w, got.err)
		}
	}
}

// TestAuto: the GPU is checked once, and then it is used, or not.
func TestAuto(t *testing.T) {
	t.Parallel() // it waits more than it works
	slow := slowVariable + "=1"
	for _, tt := range []struct {
		name      string
		variables []string
		more      string
		want      []string
	}{
		{"good", []string{slow}, "", []string{"Apple M3 (simulated) was checked: ", "-device cpu takes the CPU", "(f32 activations) on Apple M3"}},
		{"slow", nil, "", []string{"is not used: it is not faster than the CPU", "so the CPU runs the model", "mlarun doctor -device metal -model ", "-report report.md", "(f32 activations) on cpu"}},
		{"wrong", []string{slow, corruptVariable + "=sqrt(squares"}, "", []string{"is not used: q_a_kv_a_f32_f32: at position 37", "so the CPU runs the model", " on cpu"}},
		{"crashing", []string{slow, crashes}, "-replay icb", []string{"CRASHED: SIGSEGV", " on cpu"}},
		{"failing", []string{slow, "METALSIM_FAULT=replay:3"}, "", []string{"is not used: ", "command", " on cpu"}},
		{"hanging", []string{slow, "METALSIM_FAULT=wait-hang:1", patienceVariable + "=10s"}, "", []string{"HUNG: no end after 10s", " on cpu"}},
		{"fewer threads", []string{slow, "METALSIM_MAX_THREADS=200"}, "", []string{"is not used: ", "this GPU allows 200", " on cpu"}},
	} {
		if !deep.On && tt.name != "good" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			r := newAutoRig(t)
			r.run(t, 1, tt.variables, tt.more, append(tt.want, "is checked against the CPU, once")...)
			r.run(t, 0, tt.variables, tt.more, tt.want...) // it is known
			if tt.name != "good" || !deep.On {
				return
			}
			r.run(t, 1, append(tt.variables, "METALSIM_OS=26"), tt.more, "is checked against the CPU, once", "was checked: ") // another system
			r.run(t, 1, tt.variables, "-kv f16", "is checked against the CPU, once", "was checked: ")                         // another cache
			r.run(t, 0, tt.variables, "-device cpu", " on cpu")
		})
	}
}

// TestMayBe: Metal is looked for where there may be some, unless only the CPU does what is asked for.
func TestMayBe(t *testing.T) {
	for _, tt := range []struct {
		kind string
		f    flags
		want bool
	}{
		{"metal", flags{metalLib: "lib.so"}, true},
		{"metal", flags{metalLib: "lib.so", act: actInt8}, false},
		{"metal", flags{}, runtime.GOOS == "darwin"},
		{"cuda", flags{}, true},
		{"cpu", flags{act: actInt8}, true},
	} {
		if got := tt.f.mayBe(tt.kind); got != tt.want {
			t.Errorf("%s with -act %q: %v", tt.kind, tt.f.act, got)
		}
	}
}
