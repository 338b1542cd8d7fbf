package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mla/generated"
)

// The simulator of Metal reads its environment once: with argsVariable set, this
// test binary is mlarun. What corruptVariable names in the kernels of all bundles is
// spoiled.
const (
	argsVariable    = "MLARUN_TEST_ARGS"
	corruptVariable = "MLARUN_TEST_CORRUPT"
)

func TestMain(m *testing.M) {
	args, ok := os.LookupEnv(argsVariable)
	if !ok {
		os.Exit(m.Run())
	}
	bundles := generated.Bundles()
	if what := os.Getenv(corruptVariable); what != "" {
		for _, b := range bundles {
			b.Source = strings.ReplaceAll(b.Source, what, "1.01f * "+what)
		}
	}
	e := &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, bundles: bundles, devices: devices}
	os.Exit(e.main(strings.Split(args, "\n")))
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

// TestDoctor examines simulated GPUs, healthy and not.
func TestDoctor(t *testing.T) {
	lib, cache := simulator(t), t.TempDir()
	const tiny = references + "youtu-tiny-F32.gguf"
	for _, tt := range []struct {
		name string
		env  []string
		args string
		code int
		want []string // on stdout
	}{
		{"macOS 15, Apple9", nil, "-model " + tiny, 0,
			[]string{`Apple M3 \(simulated\)`, "GPU family +Apple9", "virtual GPU +no", "maxBufferLength", "recommendedMaxWorkingSetSize", "1024, in simdgroups of 32",
				"threadgroup memory +32768 B", "direct encoding +ok", "indirect command buffer +ok", "residency set: buffers +ok", "residency set: indirect command buffer +ok", "residency set: pipelines +not made: on this system pipelines are no allocations",
				"kernels of yoututiny", "attend_f16 .* ok", "launches checked", "result: ok"}},
		{"macOS 26", []string{"METALSIM_OS=26"}, "-t 0s", 0, []string{"residency set: pipelines +ok"}},
		{"both caches", nil, "-kv f32 -model " + tiny, 0, []string{"attend_f32 .* ok"}},
		{"macOS 14, Apple7", []string{"METALSIM_OS=14", "METALSIM_GPU=m1"}, "-model " + tiny, 0, []string{"Apple7", "residency set: buffers +not made: it needs macOS 15"}},
		{"tails", nil, "-bundle yoututinytails -model " + tiny, 0, []string{"shading language +Metal 3.1, and 3.2", "kernels of yoututinytails", "q_b_store_kv_k_b_f32_f16_f32 .* ok", "result: ok"}},
		{"tails, macOS 14", []string{"METALSIM_OS=14"}, "-t 0s", 0, []string{"shading language +Metal 3.1, safe", "not checked: bundle yoututinytails has kernels with tails, which need macOS 15"}},
		{"a virtual GPU", []string{"METALSIM_GPU=paravirtual"}, "-model " + tiny, 0, []string{"system +macOS 15.0", "GPU family +Apple5", "virtual GPU +yes", "replay +encode", "residency set: buffers +ok", "residency set: pipelines +not made: the GPU is virtual", "indirect command buffer +not made: the GPU is virtual"}},
		{"a virtual GPU that is not able", []string{"METALSIM_GPU=paravirtual", "METALSIM_MAX_THREADS=128"}, "-model " + tiny, 0, []string{"attend_f16 +not able", "sampler: not able", "result: ok"}},
		{"no time", nil, "-t 0s", 0, []string{"0 launches checked in .* not checked"}},
		{"a failing self-test", []string{"METALSIM_FAULT=replay:4"}, "-model " + tiny, 1, []string{"direct encoding +ok", "indirect command buffer +FAILED: .*command", "result: 1 FAILED"}},
		{"a failing kernel", []string{"METALSIM_FAULT=replay:15"}, "-model " + tiny, 1, []string{`FAILED: [a-z_0-9]+ at position \d+: .*command`, "result: 1 FAILED"}},
		{"a wrong kernel", []string{corruptVariable + "=sqrt("}, "-model " + tiny, 1,
			[]string{`q_a_kv_a_f32_f32 .* FAILED`, `embed_f32 .* ok`, `FAILED: q_a_kv_a_f32_f32 at position 37, \w+: number 0 is .*; the twin's`}},
		{"no compiler", []string{"METALSIM_FAULT=library:7"}, "-model " + tiny, 1, []string{"self-tests", "FAILED: bundle yoututiny: compile the kernels"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"doctor", "-device", "metal", "-metal-lib", lib}, strings.Fields(tt.args)...)
			got := process(t, append(tt.env, "METALSIM_CACHE="+cache, "METALSIM_STRICT=1"), args...)
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

// TestDoctorCPU compares assembly with plain Go. What -device auto examines is tested
// where the GPU is simulated, in sim/cuda.
func TestDoctorCPU(t *testing.T) {
	got := mlarun("", "doctor", "-device", "cpu", "-model", glm)
	for _, w := range []string{"device +cpu", "inner loops", "kernels of glm47tiny", "attend_f16 .* ok", "result: ok"} {
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

func TestDoctorUsage(t *testing.T) {
	for args, want := range map[string]string{
		"doctor x":                    `unexpected argument "x"`,
		"doctor -device moon":         `there is no doctor for "moon"`,
		"doctor -t soon":              `invalid value "soon"`,
		"doctor -kv q8":               `-kv is "q8"`,
		"doctor -device cpu -simd no": `-simd: cpu back end "no"`,
	} {
		if got := mlarun("", strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q; expected %q", args, got.code, got.err, want)
		}
	}
	if got := mlarun("", "doctor", "-device", "cpu", "-model", "missing.gguf"); got.code != exitError || !strings.Contains(got.err, "missing.gguf") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}
