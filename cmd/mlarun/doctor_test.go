package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/gen/objects"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/stages"
	"mla/runtime/plan"
	"mla/runtime/system/child"
	"mla/tools/tests/deep"
)

// The simulator of Metal reads its environment once: with argsVariable set, this
// test binary is mlarun. Its bundles are those that bundlesVariable names, separated by
// spaces, or all. What corruptVariable names in the kernels of all bundles is spoiled.
const (
	argsVariable    = "MLARUN_TEST_ARGS"
	bundlesVariable = "MLARUN_TEST_BUNDLES"
	corruptVariable = "MLARUN_TEST_CORRUPT"
)

func TestMain(m *testing.M) {
	if os.Getenv(compilerVariable) != "" {
		standInCompiles(os.Args[1:])
	}
	args, ok := os.LookupEnv(argsVariable)
	if !ok {
		// Verdicts on simulated GPUs are none of the user's. What the simulator compiles is.
		kernels := objects.Folder()
		folder, err := os.MkdirTemp("", "mlarun-cache")
		if err == nil {
			err = errors.Join(os.Setenv("XDG_CACHE_HOME", folder), os.Setenv(objects.Variable, kernels))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		code := m.Run()
		os.RemoveAll(folder)
		os.Exit(code)
	}
	bundles := generated.Bundles()
	if names, ok := os.LookupEnv(bundlesVariable); ok {
		all := append(slices.Clone(bundles), onNVIDIA()...)
		bundles = slices.DeleteFunc(all, func(b *plan.Bundle) bool { return !slices.Contains(strings.Fields(names), b.Name) })
	}
	if what := os.Getenv(corruptVariable); what != "" {
		for _, b := range bundles {
			b.Source = strings.ReplaceAll(b.Source, what, "1.01f * "+what)
		}
	}
	e := &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, bundles: bundles, devices: maps.Clone(devices), auto: autoDevices, getenv: os.Getenv, self: selfTested}
	if os.Getenv(slowVariable) != "" {
		e.devices["cpu"] = func(*flags) (device.Device, error) { return slowCPU{cpu.New()}, nil }
	}
	if limit, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil {
		e.patience = limit
	}
	if limit, err := time.ParseDuration(os.Getenv(kernelsVariable)); err == nil {
		e.kernels = limit
	}
	os.Exit(e.main(strings.Split(args, "\n")))
}

// childrenVariable names a file that gets a line for every process that mlarun starts,
// goneVariable keeps it from starting any.
const (
	childrenVariable = "MLARUN_TEST_CHILDREN"
	goneVariable     = "MLARUN_TEST_GONE"
)

// selfTested runs a command line of mlarun in a process of this test binary.
func selfTested(args []string) (child.Command, error) {
	exe, err := os.Executable()
	if os.Getenv(goneVariable) != "" {
		exe += " (deleted)"
	}
	if path := os.Getenv(childrenVariable); path != "" && err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = fmt.Fprintln(file, args)
			err = errors.Join(err, file.Close())
		}
	}
	return child.Command{Path: exe, Env: []string{argsVariable + "=" + strings.Join(args, "\n")}}, err
}

// process runs mlarun in a process of its own.
func process(t *testing.T, variables []string, args ...string) result {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), argsVariable+"="+strings.Join(args, "\n")), variables...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), problems.String()}
}

// simulator is the stand-in for Metal that `make sim` builds, or what MLA_METAL_LIB
// names.
func simulator(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../build/libmetalsim.so")
	if err != nil {
		t.Fatal(err)
	}
	if v := os.Getenv("MLA_METAL_LIB"); v != "" {
		path = v
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make sim builds the simulator", err)
	}
	return path
}

// TestDoctor examines simulated GPUs, healthy and not. Loads and stores of kernels are
// checked where these kernels and tokens run in runtime/device/metal.
func TestDoctor(t *testing.T) {
	t.Parallel() // it waits more than it works
	lib := simulator(t)
	const tiny = references + "youtu-tiny-F32.gguf"
	const file = "-n 0 -model " + tiny
	for _, tt := range []struct {
		name string
		env  []string
		args string
		code int
		want []string // on stdout
	}{
		{"macOS 15, Apple9", nil, "-n 10 -model " + tiny, 0,
			[]string{`Apple M3 \(simulated\)`, "GPU family +Apple9", "virtual GPU +no", "maxBufferLength", "recommendedMaxWorkingSetSize", "threads per threadgroup +1024 for 35 of 35 kernels",
				"threadgroup memory +32768 B", "direct encoding +ok", "indirect command buffer +ok", "residency set: buffers +ok", "residency set: indirect command buffer +ok", "residency set: pipelines +not made: on this system pipelines are no allocations",
				"kernels of yoututiny", "attend_f16 .* ok", "attend_x16_f16 .* ok", "launches checked", "tokens by direct encoding +10 tokens +ok", "tokens by indirect command buffer +10 tokens +ok",
				"speed +[0-9.]+ tok/s over 9 tokens", "memory +weights .*in this process", "idle +a token after 3s takes", "tokens of the CPU +the first 10 are equal +ok", "result: ok"}},
		{"both caches", nil, "-kv f32 " + file, 0, []string{"attend_f32 .* ok"}},
		{"macOS 14, Apple7", []string{"METALSIM_OS=14", "METALSIM_GPU=m1"}, file, 0, []string{"Apple7", "residency set: buffers +not made: it needs macOS 15"}},
		{"macOS 26", []string{"METALSIM_OS=26"}, "-n 0 -t 0s", 0, []string{"residency set: pipelines +ok"}},
		{"a virtual GPU that is not able", []string{"METALSIM_GPU=paravirtual", "METALSIM_MAX_THREADS=128"}, "-n 2 -model " + tiny, 0, []string{"attend_f16 +not made: not able", "sampler of yoututiny +not made: not able", "tokens by direct encoding +not made: not able", "result: ok"}},
		{"a virtual GPU", []string{"METALSIM_GPU=paravirtual"}, "-n 2 -model " + tiny, 0, []string{"system +macOS 15.0", "GPU family +Apple5", "virtual GPU +yes", "residency set: buffers +ok", "residency set: pipelines +not made: the GPU is virtual", "replay +auto takes encode", "indirect command buffer +not made: the GPU is virtual", "tokens by indirect command buffer +not made: the GPU is virtual", "tokens by direct encoding +2 tokens +ok"}},
		{"no time", nil, "-n 0 -t 0s", 0, []string{"0 of [0-9]+ launches checked in", "kernels\n(?s:.*)\n  not checked: the time of -t was over", "dependent dispatches: indirect command buffer\n(?s:.*)400 in a row +ok", "two windows +5.00 GiB in place +ok", "result: ok, but not checked: residency set: pipelines, kernels"}},
		{"failing command buffers", []string{"METALSIM_FAULT=replay:3"}, file, 1, []string{"direct encoding +FAILED: .*command", "indirect command buffer +FAILED: .*command", `[a-z_0-9]+ +FAILED: at position \d+: .*command`, "result: 7 FAILED"}},
		{"a wrong kernel", []string{corruptVariable + "=sqrt(squares"}, file, 1,
			[]string{`embed_f32 .* ok`, `q_a_kv_a_f32_f32 +FAILED: at position 37, \w+: number 0 is .*; the reference's`, `kernels\n(?s:.*)\n  \d+ FAILED, `}},
		{"few threads", []string{"METALSIM_MAX_THREADS=200"}, file, 1, []string{"attend_f16 +FAILED: 256 threads in a threadgroup; this GPU allows 200", "result: [0-9]+ FAILED"}},
		{"an old system", []string{"METALSIM_OS=13"}, file, 1, []string{"system +FAILED: .*needs macOS 14 or later", "result: 1 FAILED"}},
	} {
		if !deep.On && !slices.Contains([]string{"macOS 15, Apple9", "no time", "an old system"}, tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"doctor", "-v", "-device", "metal", "-metal-lib", lib}, strings.Fields(tt.args)...)
			got := process(t, append([]string{"METALSIM_STRICT=1", "METALSIM_KERNELS=fast"}, tt.env...), args...)
			if got.code != tt.code {
				t.Errorf("exit code %d; expected %d", got.code, tt.code)
			}
			for _, w := range tt.want {
				if !regexp.MustCompile(w).MatchString(got.out) {
					t.Errorf("no %q in the report", w)
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", got.out, got.err)
			}
		})
	}
}

// TestDoctorReport has a place for the report that is none.
func TestDoctorReport(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{folder, filepath.Join(folder, "missing", "r.md")} {
		if got := mlarun("", "doctor", "-device", "cpu", "-t", "0s", "-n", "0", "-report", path); got.code != exitError || !strings.Contains(got.err, "-report: ") {
			t.Errorf("%s: exit code %d, %q", path, got.code, got.err)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 0 {
		t.Errorf("%v, %v; nothing should be left", files, err)
	}
}

// TestDoctorCPU compares assembly with plain Go. What -device auto examines is tested
// where the GPU is simulated, in sim/cuda.
func TestDoctorCPU(t *testing.T) {
	got := mlarun("", "doctor", "-v", "-device", "cpu", "-n", "20", "-model", glm)
	for _, w := range []string{"device +cpu", "inner loops", "kernels of glm47tiny", "attend_f16 .* ok", "tokens +20 tokens +ok", "result: ok"} {
		if !regexp.MustCompile(w).MatchString(got.out) {
			t.Errorf("no %q in the report", w)
		}
	}
	if strings.Contains(got.out, "attend_f32") {
		t.Error("checks variants that the file does not need")
	}
	if got.code != 0 || t.Failed() {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// checksOnly wants the doctor without a model to be well, and to check the kernels of one
// bundle.
func checksOnly(t *testing.T, name, act string, bundles []*plan.Bundle) {
	t.Helper()
	r := with(bundles, "", "doctor", "-device", "cpu", "-n", "0", "-act", act)
	if r.code != 0 || strings.Count(r.out, "kernels of ") != 1 || !strings.Contains(r.out, "kernels of "+name+" (") {
		t.Errorf("-act %s: code %d\n%s%s", act, r.code, r.out, r.err)
	}
}

func TestDoctorUsage(t *testing.T) {
	for args, want := range map[string]string{
		"doctor x":                    `unexpected argument "x"`,
		"doctor -device moon":         `there is no doctor for "moon"`,
		"doctor -t soon":              `invalid value "soon"`,
		"doctor -kv q8":               `-kv is "q8"`,
		"doctor -device cpu -simd no": `-simd: cpu back end "no"`,
		"doctor -n -1":                "-n is -1",
		"doctor -limit -1s":           "-limit is -1s",
		"doctor -stress 2 -model F":   "-stress needs a -model, and 3 replays",
		"doctor -schedule 9":          "-schedule needs a -model, 1 step or more",
	} {
		if got := mlarun("", strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q; expected %q", args, got.code, got.err, want)
		}
	}
	if got := mlarun("", "doctor", "-device", "cpu", "-model", "missing.gguf"); got.code != exitError || !strings.Contains(got.err, "missing.gguf") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

// TestDoctorStageTable: the program runs exactly the stages that leave that to it.
func TestDoctorStageTable(t *testing.T) {
	run := (&examination{}).program()
	for i := range stages.All {
		s := &stages.All[i]
		if _, ok := run[s.Name]; ok != s.ByProgram() {
			t.Errorf("stage %q: run by the program is %v; expected %v", s.Name, ok, s.ByProgram())
		}
		delete(run, s.Name)
	}
	if len(run) > 0 {
		t.Errorf("the program runs stages that there are not: %v", slices.Collect(maps.Keys(run)))
	}
}
