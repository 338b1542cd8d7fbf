//go:build deep

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestReopenGPU: whichever command buffer of a text macOS ends, the GPU is opened anew and the text goes on, whether the
// host picks its tokens or the GPU does. If macOS ends all later command buffers, too, the program says what helps.
func TestReopenGPU(t *testing.T) {
	lib := simulator(t)
	for _, line := range []string{
		"greedy -tokens 3,40,200,7 -n 12 -ahead 0 -kv f32 -model " + references + "youtu-tiny-F32.gguf",
		"greedy -tokens 3,40,200,7 -n 12 -ahead 4 -kv f32 -model " + references + "youtu-tiny-F32.gguf",
	} {
		want := mlarun("", strings.Fields(line+" -device cpu")...)
		run := func(fault string) result {
			return process(t, []string{"METALSIM_KERNELS=fast", "METALSIM_FAULT=" + fault, "XDG_CACHE_HOME=" + t.TempDir()},
				append(strings.Fields(line), "-device", "metal", "-replay", "encode", "-metal-lib", lib)...)
		}
		for n := 1; n <= 9; n += 2 {
			if got := run(fmt.Sprint("replay:", n)); got.code != exitOK || got.out != want.out || strings.Contains(got.err, "[metalsim]") {
				t.Errorf("%s: command buffer %d is ended: exit code %d, %q; expected %q\n%s", line, n, got.code, got.out, want.out, got.err)
			}
		}
		if got := run("lost:3"); got.code != exitError || !strings.Contains(got.err, "macOS ends what keeps the GPU busy for long") || strings.Contains(got.err, "[metalsim]") {
			t.Errorf("%s: all are ended: exit code %d\n%s", line, got.code, got.err)
		}
	}
}
