package metal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
	"mla/tools/tests/race"
)

// The simulator reads its configuration once, and a broken rule ends the
// process: so every case below runs in a process of its own, which is this test
// binary with MLA_METAL_CASE set.

const caseVariable = "MLA_METAL_CASE"

// library returns the path of the simulator.
func library(t *testing.T) string {
	t.Helper()
	return devicetest.Library(t, "../../..", "libmetalsim.so", "MLA_METAL_LIB")
}

// cases run inside the simulator. Each returns an error that says what is wrong.
var cases = map[string]func(lib string) error{
	"logits youtu":       logits("youtu-tiny-F32", quant.F32, 1e-3, metal.ReplayICB),
	"logits glm":         logits("glm47-tiny-Q4_0", quant.F16, 0.05, metal.ReplayICB),
	"encode":             logits("glm47-tiny-Q4_0", quant.F16, 0.05, metal.ReplayEncode),
	"auto":               automatic,
	"legacy":             logits("youtu-tiny-legacykvb-F32", quant.F32, 1e-3, metal.ReplayICB),
	"structure":          structure,
	"refused":            refused,
	"failure":            failure,
	"unallocated":        unallocated,
	"not able":           notAble,
	"described":          described,
	"loops":              loops(metal.ReplayICB),
	"loops auto":         loops(metal.ReplayAuto),
	"misuse":             misuse,
	"sessions":           opened(metal.ReplayICB, "youtu-tiny-F32", reference.Batched),
	"sessions in pieces": inPieces(opened(metal.ReplayICB, "youtu-tiny-F32", reference.Batched)),
	"encode sessions":    opened(metal.ReplayEncode, "youtu-tiny-F32", reference.Batched),
	"sessions q8":        opened(metal.ReplayICB, "youtu-mini-Q4_0", reference.Sharing),
	"logits q8":          logits("youtu-mini-Q4_0", quant.Q8_0, 0.25, metal.ReplayICB),
	"lost loop":          lostLoop,
	"no sampler":         noSampler,
	"half youtu":         half("youtu-mini-Q4_K_M", quant.F32),
	"half glm":           half("glm47-mini-Q4_K_M", quant.F32),
	"half ds":            half("dsv2lite-mini-Q4_K_M", quant.F32),
	"half cache":         half("youtu-mini-Q4_0", quant.F16),
	"half shipped":       half("../tinyglm", quant.F16),
}

func TestMain(m *testing.M) {
	name, lib, ok := strings.Cut(os.Getenv(caseVariable), "|")
	if !ok {
		os.Exit(m.Run())
	}
	name, arguments, _ := strings.Cut(name, " ? ")
	run := cases[name]
	if name == pacedCase {
		run = paced(arguments)
	}
	if err := run(lib); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// deepRuns has the beginnings of the names that only the deep tier runs: all bundles but two. The fast tier
// runs one bundle by indirect command buffer and one by direct encoding.
var deepRuns = []string{"half", "legacy", "logits glm", "logits q8", "sessions", "encode sessions"}

// TestSimulator runs the runtime under the simulator, on several systems.
func TestSimulator(t *testing.T) {
	lib := library(t)
	// Checked loads and stores take long. Systems replay in one of two ways, each of which
	// is checked on one of them, and with delayed stores.
	fast := []string{"METALSIM_KERNELS=fast"}
	for _, tt := range []struct {
		name, run string
		env       []string
		want      string // in what is printed; "": nothing goes wrong
	}{
		{"macOS 15, Apple9", "logits youtu", nil, ""},
		{"macOS 15, Apple9, GLM", "logits glm", nil, ""},
		{"macOS 14, Apple7", "logits youtu", []string{"METALSIM_KERNELS=fast", "METALSIM_OS=14", "METALSIM_GPU=m1"}, ""},
		{"macOS 15, Apple8", "logits glm", []string{"METALSIM_KERNELS=fast", "METALSIM_GPU=m2"}, ""},
		{"macOS 26", "logits youtu", []string{"METALSIM_KERNELS=fast", "METALSIM_OS=26", "METALSIM_GPU=m5"}, ""},
		{"macOS 27, Apple11", "logits youtu", []string{"METALSIM_KERNELS=fast", "METALSIM_OS=27", "METALSIM_GPU=apple11"}, ""},
		{"macOS 26, Apple7", "logits youtu", []string{"METALSIM_KERNELS=fast", "METALSIM_OS=26", "METALSIM_GPU=m1"}, ""},
		{"store delay", "logits glm", []string{"METALSIM_STORE_DELAY=1"}, ""},
		{"direct encoding", "encode", nil, ""},
		{"tokens picked on the GPU", "loops", nil, ""},
		{"tokens picked on the GPU, Apple7", "loops", []string{"METALSIM_KERNELS=fast", "METALSIM_OS=14", "METALSIM_GPU=m1"}, ""},
		{"tokens picked on the GPU, store delay", "loops", []string{"METALSIM_STORE_DELAY=1"}, ""},
		{"tokens picked on the GPU, virtual", "loops auto", []string{"METALSIM_GPU=paravirtual"}, ""},
		{"sessions", "sessions", fast, ""},
		{"sessions, direct encoding", "encode sessions", fast, ""},
		{"sessions, batches of 16 rows in pieces", "sessions in pieces", fast, ""},
		{"a cache of q8_0", "logits q8", fast, ""},
		{"a cache of q8_0, sessions", "sessions q8", fast, ""},
		{"loops misused", "misuse", []string{"METALSIM_KERNELS=fast"}, ""},
		{"no pipeline for the sampler", "no sampler", []string{"METALSIM_KERNELS=fast", "METALSIM_REFUSE=pipeline:picks_scan"}, ""},
		{"a loop that fails", "lost loop", []string{"METALSIM_KERNELS=fast", "METALSIM_FAULT=replay:4"}, "command buffer"},
		{"a virtual GPU", "auto", []string{"METALSIM_KERNELS=fast", "METALSIM_GPU=paravirtual"}, ""},
		{"automatic replay", "auto", fast, ""},
		{"a legacy file", "legacy", nil, ""},
		{"prompts in flight, ICB", "structure", []string{"METALSIM_KERNELS=stub"}, ""},
		{"half activations, Youtu", "half youtu", fast, ""},
		{"half activations, GLM", "half glm", fast, ""},
		{"half activations, DeepSeek", "half ds", fast, ""},
		{"half activations and cache", "half cache", fast, ""},
		{"half activations, the shipped model", "half shipped", fast, ""},
		{"a Mac", "described", nil, "Apple M3 (simulated), family 9, virtual false, macOS 15.0 (SIMULATED), sets true, replay icb, Metal 3.1, safe math mode"},
		{"a new Mac", "described", []string{"METALSIM_OS=26", "METALSIM_GPU=m5"}, "Apple M5 (simulated), family 10, virtual false, macOS 26.0 (SIMULATED), sets true, replay icb, Metal 3.1, safe math mode"},
		{"a newer Mac", "described", []string{"METALSIM_OS=27", "METALSIM_GPU=apple11"}, "Apple GPU of family 11 (simulated), family 11, virtual false, macOS 27.0 (SIMULATED), sets true, replay icb, Metal 3.1, safe math mode"},
		{"a newer GPU on an older system", "described", []string{"METALSIM_OS=26", "METALSIM_GPU=apple11"}, "family 10, virtual false, macOS 26.0"},
		{"a virtual Mac", "described", []string{"METALSIM_OS=14", "METALSIM_GPU=paravirtual"}, "Apple Paravirtual device, family 5, virtual true, macOS 14.0 (SIMULATED), sets false, replay encode, Metal 3.1, safe math mode"},
		{"an AMD GPU", "refused", []string{"METALSIM_GPU=amd"}, "AMD Radeon Pro 5500M (simulated) has memory of its own"},
		{"an Intel GPU", "refused", []string{"METALSIM_GPU=intel"}, "Intel(R) UHD Graphics 630 (simulated) is not supported; the kernels need an Apple GPU of family 7"},
		{"no pipeline on a virtual GPU", "not able", []string{"METALSIM_GPU=paravirtual", "METALSIM_REFUSE=pipeline:embed_f32"}, "the virtual GPU is not able to run it: make a pipeline: injected failure"},
		{"few threads on a virtual GPU", "not able", []string{"METALSIM_GPU=paravirtual", "METALSIM_MAX_THREADS=128"}, "the virtual GPU is not able to run it: 256 threads in a threadgroup"},
		{"few threads on a Mac", "not able", []string{"METALSIM_MAX_THREADS=128"}, "no verdict: "},
		{"a kernel of the older GPUs, Apple7", "class", []string{"METALSIM_GPU=m1"}, ""},
		{"a kernel of the older GPUs, Apple7, missing", "class without", []string{"METALSIM_GPU=m1"}, "nothing named attend_f16_own"},
		{"a kernel of the older GPUs, Apple8, missing", "class without", []string{"METALSIM_GPU=m2"}, "nothing named attend_f16_own"},
		{"a kernel of the older GPUs, Apple9, missing", "class without", nil, ""},
		{"a kernel of the older GPUs, virtual, missing", "class auto", []string{"METALSIM_GPU=paravirtual"}, "nothing named attend_f16_own"},
		{"macOS 13", "refused", []string{"METALSIM_OS=13"}, "needs macOS 14 or later"},
		{"no GPU", "refused", []string{"METALSIM_FAULT=device:1"}, "no GPU that Metal can use"},
		{"small GPU", "logits youtu", []string{"METALSIM_WORKING_SET=100000"}, "recommends at most 100000"},
		{"small buffers", "logits youtu", []string{"METALSIM_MAX_BUFFER=65536"}, "a buffer can have 65536"},
		{"no command queue", "unallocated", []string{"METALSIM_FAULT=queue:1"}, "make a command queue"},
		{"no command buffer", "logits youtu", []string{"METALSIM_FAULT=commands:3"}, "make a command buffer"},
		{"a failed command buffer", "failure", []string{"METALSIM_FAULT=replay:3"}, "command buffer"},
		{"a lost device", "failure", []string{"METALSIM_FAULT=lost:2"}, "lost"},
		{"no memory", "unallocated", []string{"METALSIM_FAULT=alloc:4"}, "cannot allocate"},
		{"no library", "unallocated", []string{"METALSIM_FAULT=library:1"}, "compile the kernels"},
		{"no pipeline", "unallocated", []string{"METALSIM_REFUSE=pipeline:embed_f32"}, "make a pipeline: injected failure"},
	} {
		if !deep.On && slices.ContainsFunc(deepRuns, func(run string) bool { return strings.HasPrefix(tt.run, run) }) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), caseVariable+"="+tt.run+"|"+lib, "METALSIM_STRICT=1")
			if delayed := slices.Contains(tt.env, "METALSIM_STORE_DELAY=1"); race.On && !delayed {
				cmd.Env = append(cmd.Env, fast...) // the race detector watches the Go code alone, so the kernels may be the fast ones
			}
			cmd.Env = append(cmd.Env, tt.env...)
			out, err := cmd.CombinedOutput()
			if tt.want == "" && err != nil {
				t.Fatalf("%v\n%s", err, head(out))
			}
			if tt.want != "" && (err == nil || !bytes.Contains(out, []byte(tt.want)) || bytes.Contains(out, []byte("[metalsim]"))) {
				t.Fatalf("error %v; expected %q\n%s", err, tt.want, head(out))
			}
		})
	}
}

// head returns the output of a process before Go's traceback of all goroutines.
func head(out []byte) []byte {
	message, _, _ := bytes.Cut(out, []byte("\ngoroutine "))
	return message
}

// among returns the bundles to choose from: all if none are named.
func among(bundles []*plan.Bundle) []*plan.Bundle {
	if len(bundles) == 0 {
		return generated.Bundles()
	}
	return bundles
}

// with records a file and passes the runner to f.
func with(lib, name string, cfg device.Config, options metal.Options, f func(device.Runner) error, bundles ...*plan.Bundle) (err error) {
	m, done, err := reference.Bind(name, among(bundles), "f32")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return withModel(lib, m, cfg, options, f)
}

// opened passes the device and a file's model to f.
func opened(how metal.Replay, name string, f func(device.Device, *device.Model) error) func(lib string) error {
	return func(lib string) error {
		m, done, err := reference.Bind(name, generated.Bundles(), "f32")
		if err != nil {
			return err
		}
		d, err := metal.Open(metal.Options{Library: lib, Replay: how})
		if err != nil {
			return err
		}
		return errors.Join(f(d, m), done())
	}
}

// inPieces makes the predicted speed of GPUs so slow that each piece is as short as possible.
func inPieces(f func(lib string) error) func(string) error {
	return func(lib string) error {
		metal.SlowChips(1e7)
		return f(lib)
	}
}

// withModel records a model and passes the runner to f.
func withModel(lib string, m *device.Model, cfg device.Config, options metal.Options, f func(device.Runner) error) error {
	options.Library = lib
	d, err := metal.Open(options)
	if err != nil {
		return err
	}
	r, err := device.LoadSingle(d, m, cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(r), r.Close())
}

// logits compares the logits of every position with the reference. The
// tolerances are those of the CPU device: another order of float32 sums, and
// cache rows rounded to half precision.
func logits(name string, kv quant.Type, tolerance float64, replay metal.Replay, bundles ...*plan.Bundle) func(string) error {
	return func(lib string) error {
		ref, err := reference.Read(name)
		if err != nil {
			return err
		}
		cfg := device.Config{Context: len(ref.Prompt), KV: kv}
		return with(lib, name, cfg, metal.Options{Replay: replay}, func(r device.Runner) error {
			for pos, token := range ref.Prompt {
				got, err := r.Replay(reference.Rows(token, pos), device.All(1))
				if err != nil {
					return err
				}
				if worst := ref.Worst(got, pos); !(worst <= tolerance) {
					return fmt.Errorf("position %d: logits differ by %g; at most %g is allowed", pos, worst, tolerance)
				}
			}
			return ref.InFlight(r, tolerance)
		}, bundles...)
	}
}

// automatic checks that the device asks once whether ICBs are trusted, and does not ask on a virtual GPU.
func automatic(lib string) error {
	for _, tt := range []struct {
		replay       metal.Replay
		answer, asks bool
		want         metal.Replay
	}{
		{"", true, true, metal.ReplayICB},
		{metal.ReplayAuto, true, true, metal.ReplayICB},
		{metal.ReplayAuto, false, true, metal.ReplayEncode},
		{metal.ReplayICB, false, false, metal.ReplayICB},
		{metal.ReplayEncode, true, false, metal.ReplayEncode},
	} {
		asked := 0
		d, err := metal.Open(metal.Options{Library: lib, Replay: tt.replay, Trusted: func(i *metal.Info) bool {
			asked++
			return i.Name != "" && tt.answer
		}})
		if err != nil {
			return err
		}
		if d.Virtual {
			tt.asks = false
			if tt.replay != metal.ReplayICB {
				tt.want = metal.ReplayEncode
			}
		}
		if got := d.HowReplayed(); got != tt.want || asked > 1 || asked == 1 != tt.asks {
			return fmt.Errorf("%+v: %s, asked %d times", tt, got, asked)
		}
	}
	if d, err := metal.Open(metal.Options{Library: lib}); err != nil || d.HowReplayed() != metal.ReplayEncode {
		return fmt.Errorf("without anyone to ask: %v, %v", d, err)
	}
	return logits("youtu-tiny-F32", quant.F32, 1e-3, metal.ReplayAuto)(lib)
}

// half compares activations in half with their Go references.
func half(name string, kv quant.Type, bundles ...*plan.Bundle) func(string) error {
	return func(lib string) error {
		return reference.CompareCPU(name, among(bundles), kv, func(m *device.Model, cfg device.Config, f func(device.Runner) error) error {
			return withModel(lib, m, cfg, metal.Options{Replay: metal.ReplayICB}, f)
		})
	}
}
