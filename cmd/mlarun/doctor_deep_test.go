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
			[]string{"Result: ok", `indirect command buffer \| not made`, "the GPU is virtual", `kernels ` + passed, `tokens by direct encoding ` + passed}},
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
