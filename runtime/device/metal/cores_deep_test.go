//go:build deep

package metal_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// coresRuns lists GPUs and systems, with the number of splits of one row's attention on each.
var coresRuns = []struct {
	name, replay string
	env          []string
	splits       int
}{
	{"8 cores", "icb", []string{"METALSIM_GPU=m1"}, 24},
	{"8 cores, direct encoding", "encode", []string{"METALSIM_GPU=m1"}, 24},
	{"10 cores", "icb", []string{"METALSIM_GPU=m3"}, 30},
	{"40 cores", "icb", []string{"METALSIM_GPU=m3max"}, 120},
	{"10 cores, macOS 27", "icb", []string{"METALSIM_GPU=m5", "METALSIM_OS=27"}, 10}, // of 12 simdgroups a core, as the simulator says
}

func init() {
	for _, tt := range coresRuns {
		cases[fmt.Sprint("cores ", tt.splits, tt.replay)] = func(lib string) error { return onCores(lib, metal.Replay(tt.replay), tt.splits) }
	}
}

// TestCores checks that the same bundle splits attention by the GPU's number of cores, or as its pipeline
// recommends, and that the logits are those of the CPU.
func TestCores(t *testing.T) {
	lib, logits := library(t), map[string]int{}
	for _, tt := range coresRuns {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), caseVariable+"=cores "+strconv.Itoa(tt.splits)+tt.replay+"|"+lib, "METALSIM_STRICT=1", "METALSIM_KERNELS=fast")
		cmd.Env = append(cmd.Env, tt.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, head(out))
		}
		logits[string(out)] = tt.splits
	}
	if len(logits) != len(coresRuns)-1 { // two runs have as many splits
		t.Errorf("%d different logits: do the kernels read how many splits there are?", len(logits))
	}
}

// coresDepth is how many tokens are in front of the one whose attention differs: with tiles of two rows
// there are as many splits of eight rows as 2 times its root, unless the device has fewer.
const coresDepth = 255

func onCores(lib string, replay metal.Replay, splits int) error {
	s, err := spec.Load("../../../specs/youtumini.yaml")
	if err != nil {
		return err
	}
	s = s.WithClass(plan.ClassApple)
	s.Tuning.Attention.Tile = 2
	b, err := gen.Compile(s, nil)
	if err != nil {
		return err
	}
	m, done, err := reference.Bind("youtu-mini-Q4_0", []*plan.Bundle{b}, "f32")
	if err != nil {
		return err
	}
	cfg := device.Config{Context: coresDepth + 1, KV: quant.F32, Width: 16, Threads: 1}
	var got, want []float32
	err = withModel(lib, m, cfg, metal.Options{Replay: replay}, func(r device.Runner) (err error) {
		if n := metal.Splits(r); n != splits {
			return fmt.Errorf("the grid of attention has %d threadgroups; expected %d", n, splits)
		}
		got, err = deepLogits(r)
		got = slices.Clone(got)
		return err
	})
	if err != nil {
		return err
	}
	r, err := device.LoadSingle(cpu.New(), m, cfg)
	if err != nil {
		return err
	}
	if want, err = deepLogits(r); err != nil {
		return err
	}
	if worst := reference.Difference(got, want); worst > 1e-4 {
		return fmt.Errorf("logits differ by %g from the CPU's", worst)
	}
	fmt.Println(strings.Trim(fmt.Sprint(got[:64]), "[]"))
	return errors.Join(r.Close(), done())
}

// deepLogits returns the logits after coresDepth tokens.
func deepLogits(r device.Runner) ([]float32, error) {
	var rows []plan.Row
	for pos := range coresDepth {
		rows = append(rows, reference.Rows(int32(pos*7%200), pos)...)
		if len(rows) == 16 || pos == coresDepth-1 {
			if _, err := r.Replay(rows, nil); err != nil {
				return nil, err
			}
			rows = rows[:0]
		}
	}
	return r.Replay(reference.Rows(1, coresDepth), device.All(1))
}
