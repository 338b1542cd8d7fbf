//go:build deep

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mla/runtime/doctor/checkup"
)

// TestDoctorStages has stages crash, hang and fail: each is named, those after it run
// nevertheless, and the report stays small.
func TestDoctorStages(t *testing.T) {
	t.Parallel() // it waits more than it works
	lib := simulator(t)
	const tiny = "-n 2 -model " + references + "youtu-tiny-F32.gguf"
	const passed = `\| ok \| [1-9]`
	for i, tt := range []struct {
		name   string
		env    []string
		args   string
		failed string   // heading of the first section of failures; "": none
		want   []string // in the report
	}{
		{"recording crashes", []string{"METALSIM_FAULT=icb-segv"}, tiny, "indirect command buffer",
			[]string{`indirect command buffer \| CRASHED \|`, "SIGSEGV: segmentation violation", "mtl.Command.SetPipeline", `tokens by indirect command buffer \| CRASHED \|`,
				`direct encoding ` + passed, `kernels ` + passed, `tokens by direct encoding ` + passed}},
		{"recording hangs", []string{"METALSIM_FAULT=icb-hang"}, tiny + " -limit 10s", "indirect command buffer",
			[]string{`indirect command buffer \| HUNG \|`, "no end after 10s", `direct encoding ` + passed, `kernels ` + passed, `tokens by direct encoding ` + passed, `tokens by indirect command buffer \| HUNG \|`}},
		{"no library", []string{"METALSIM_FAULT=library:1"}, tiny, "compile",
			[]string{`system \| ok`, `compile \| 1 FAILED`, "compile the kernels", `direct encoding \| 1 FAILED`, `indirect command buffer \| 1 FAILED`, `kernels \| 1 FAILED`, `tokens by indirect command buffer \| 1 FAILED`}},
		{"a virtual GPU", []string{"METALSIM_GPU=paravirtual"}, tiny, "",
			[]string{"Result: ok", `indirect command buffer \| not checked: the GPU is virtual`, "the GPU is virtual", `kernels ` + passed, `tokens by direct encoding ` + passed}},
		{"not a model", nil, "-n 2 -t 0s -bundle glm47tiny -model " + references + "youtu-tiny-F32.gguf", "compile", []string{`kernels \| 1 FAILED`, `direct encoding ` + passed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if i > 0 { // the first one compiles for all
				t.Parallel()
			}
			report := filepath.Join(t.TempDir(), "report.md")
			args := append([]string{"doctor", "-device", "metal", "-metal-lib", lib, "-report", report}, strings.Fields(tt.args)...)
			got := process(t, append([]string{"METALSIM_KERNELS=fast"}, tt.env...), args...)
			text, err := os.ReadFile(report)
			if err != nil || len(text) > checkup.MostBytes {
				t.Fatalf("%v, %d bytes\n%s%s", err, len(text), got.out, got.err)
			}
			_, failures, _ := strings.Cut(string(text), "\n## Failed: ")
			if first, _, _ := strings.Cut(failures, "\n"); first != tt.failed || (got.code == exitOK) != (tt.failed == "") {
				t.Errorf("exit code %d, the first failure is of %q; expected %q", got.code, first, tt.failed)
			}
			for _, w := range tt.want {
				if !regexp.MustCompile(w).Match(text) {
					t.Errorf("no %q", w)
				}
			}
			if t.Failed() {
				t.Logf("%s", text)
			}
		})
	}
}

// TestDoctorMeasures: with 100 tokens or more the doctor runs a long prompt and many sessions, and finds
// the longest command buffer that the system lets end. What is too short for mlarun, and kernels of
// several rows that are wrong, are failures.
func TestDoctorMeasures(t *testing.T) {
	t.Parallel()
	lib, work := simulator(t), filepath.Join(t.TempDir(), "work")
	if err := os.WriteFile(work, []byte("busy\t1\t1\t0\t100000000\t0\t0\t0\t0\t0\t0\t0\t0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := "doctor -device metal -replay encode -n 100 -t 0s -model " + references + "youtu-tiny-F32.gguf -metal-lib " + lib
	for _, tt := range []struct {
		name string
		env  []string
		code int
		want []string
	}{
		{"good", nil, exitOK, []string{"a prompt of 600 tokens +logits differ .* ok", "20 sessions +logits differ .* ok", "read bandwidth +[0-9]+ GB/s of 1.00 GiB", "1.00 GiB add up as on the CPU +ok",
			"first that did not end +320ms: .*kIOGPUCommandBufferCallbackErrorTimeout", "longest that ended +160ms", "speed of a large model +not made: a library stands in for Metal"}},
		{"wrong kernels and short buffers", []string{"METALSIM_BUFFER_MS=50", corruptVariable + "=sqrt(squares"}, exitError, []string{
			"a prompt of 600 tokens +FAILED: logits: they differ", "20 sessions +FAILED: logits: they differ",
			"long command buffers +FAILED: one of 80ms did not end well, and mlarun makes some of up to 150ms: .*0000000e"}},
	} {
		got := process(t, append([]string{"METALSIM_KERNELS=fast", "METALSIM_WORK=" + work}, tt.env...), strings.Fields(line)...)
		for _, w := range tt.want {
			if !regexp.MustCompile(w).MatchString(got.out) {
				t.Errorf("%s: no %q", tt.name, w)
			}
		}
		if got.code != tt.code || t.Failed() {
			t.Fatalf("%s: exit code %d\n%s%s", tt.name, got.code, got.out, got.err)
		}
	}
}
