package mla_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mla"
	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// simulated names the file with a bundle without PTX, in the process that has an NVIDIA GPU.
const simulated = "MLA_TEST_BUNDLE"

// TestDevices: an NVIDIA GPU is taken where there is one and it has the bundle's kernels. The
// driver is build/libcudasim.so (make sim), which is found in place of the system's; its
// kernels compute nothing, so only the way to the device is tested here.
func TestDevices(t *testing.T) {
	if file := os.Getenv(simulated); file != "" {
		onGPU(t, file)
		return
	}
	if _, err := mla.Open(tiny, mla.Options{Device: "metal"}); err == nil {
		t.Error("Metal on Linux")
	}
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache")) // without verdicts
	library, err := filepath.Abs("build/libcudasim.so")
	if err == nil {
		_, err = os.Stat(library)
	}
	if err != nil {
		t.Fatalf("%v; make sim builds it", err)
	}
	text, err := os.ReadFile("specs/tinyglm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var bundle *plan.Bundle
	for _, b := range generated.Bundles() {
		if b.Name == "tinyglm" {
			bundle = b
		}
	}
	data, err := bundlefile.Encode(&bundlefile.File{Spec: text, Bundles: []*plan.Bundle{bundle}})
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(folder, "plain.mla")
	if err := errors.Join(os.Symlink(library, filepath.Join(folder, "libcuda.so.1")), bundlefile.Write(plain, data)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDevices$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder, "CUDASIM_KERNELS=stub", simulated+"="+plain)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestDevices") {
		t.Errorf("%v\n%s", err, out)
	}
}

// onGPU opens the model where there is a GPU.
func onGPU(t *testing.T, plain string) {
	const gpu = "simulated NVIDIA GPU"
	for _, tt := range []struct{ device, bundle, want string }{
		{"", "", gpu},
		{"cuda", "", gpu},
		{"cpu", "", "cpu"},
		{"", plain, "cpu"},
		{"cuda", plain, "it has no kernels for NVIDIA GPUs"},
	} {
		m, err := mla.Open(tiny, mla.Options{Device: tt.device, Bundle: tt.bundle, Context: 64})
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		logits, err := session(t, m).Logits(context.Background(), []int32{1, 2})
		if err != nil || m.Device() != tt.want || len(logits) != m.VocabSize() {
			t.Errorf("%+v: on %s: %d logits, %v", tt, m.Device(), len(logits), err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnchecked: Apple's GPU runs no model unless it was checked, which a program without a path
// of mlarun does not do. The GPU is simulated, in a process of its own: its library stays loaded.
func TestUnchecked(t *testing.T) {
	const variable = "MLA_TEST_UNCHECKED"
	if library := os.Getenv(variable); library != "" {
		var notes []string
		note := func(line string) { notes = append(notes, line) }
		for _, checker := range []string{"", filepath.Join(t.TempDir(), "none")} {
			m, err := mla.Open(tiny, mla.Options{MetalLibrary: library, Checker: checker, Context: 64, Note: note})
			if err != nil {
				t.Fatal(err)
			}
			if m.Device() != "cpu" {
				t.Errorf("%s runs the model", m.Device())
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		text := strings.Join(notes, "\n")
		for _, want := range []string{"nobody has checked it for this model", "; device cpu is tried next", "the check did not run: ", "mlarun doctor -device metal -model " + tiny} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %q", want, text)
			}
		}
		return
	}
	library, err := filepath.Abs("build/libmetalsim.so")
	if err == nil {
		_, err = os.Stat(library)
	}
	if err != nil {
		t.Fatalf("%v; make sim builds it", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnchecked$", "-test.v")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), variable+"="+library)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestUnchecked") {
		t.Errorf("%v\n%s", err, out)
	}
}
