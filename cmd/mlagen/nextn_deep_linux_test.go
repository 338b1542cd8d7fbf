//go:build deep

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/ptx"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// TestNextNOnCUDA runs the model, and then the multi-token prediction layer, on the stand-in for
// NVIDIA's driver, which runs the kernels of one source in a process; the other one runs
// on the CPU.
func TestNextNOnCUDA(t *testing.T) {
	const variable = "MLA_NEXTN_CASE"
	lib := standIn(t, "libcudasim.so")
	which, file, inside := strings.Cut(os.Getenv(variable), " ")
	if !inside {
		for _, file := range []string{combined, linear} {
			bundles, _ := boundTo(t, file, file, "f32")
			for i, name := range []string{"model", "layer"} {
				source := filepath.Join(t.TempDir(), "kernels.metal")
				if err := os.WriteFile(source, []byte(bundles[i].Bundle.Metal()), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestNextNOnCUDA$")
				cmd.Env = append(os.Environ(), variable+"="+name+" "+file, "CUDASIM_METAL="+source, "CUDASIM_KERNELS=fast")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s of %s: %v\n%s", name, file, err, out)
				}
			}
		}
		return
	}
	gpu, err := cuda.Open(cuda.Options{Library: lib, PTX: func(b *plan.Bundle) (string, error) {
		data, err := ptx.Build(b)
		if err != nil {
			return "", err
		}
		return ptxfile.Text(b, data)
	}})
	if err != nil {
		t.Fatal(err)
	}
	model, layer := device.Device(gpu), cpu.New()
	if which == "layer" {
		model, layer = layer, model
	}
	p := newPredictor(t, model, layer, file, file, "f32")
	last := len(p.ref.Prompt) - 1
	for first, n := 0, 1; first < last; first, n = first+n, min(5, last-first-n) {
		if worst := p.run(first, n); !(worst <= nextNTolerance) {
			t.Errorf("%s, rows from %d on: logits differ by %g", which, first, worst)
		}
	}
	p.drafts(t, file)
}
