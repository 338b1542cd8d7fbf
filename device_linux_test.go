package mla_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla"
	"mla/generated"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// simulated is an environment variable: the folder with the bundle files. Only the process with the simulated
// NVIDIA GPU has it.
const simulated = "MLA_TEST_BUNDLES"

// plain and compiled are the bundle files in that folder: plain has no PTX, compiled has it.
const plain, compiled = "plain.mla", "compiled.mla"

// beside is the end of the error of a program without PTX files.
const beside = "no kernels of it for NVIDIA GPUs lie beside this program; run make ptx && make build"

// TestDevices checks that Open takes an NVIDIA GPU if the machine has one and the bundle has PTX. The driver is
// build/libcudasim.so (make sim), which takes the place of the system's driver. Its kernels compute nothing, so
// the test only covers the choice of the device.
func TestDevices(t *testing.T) {
	if bundles := os.Getenv(simulated); bundles != "" {
		onGPU(t, bundles)
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
	if err := os.Symlink(library, filepath.Join(folder, "libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	writeBundles(t, folder)
	cmd := exec.Command(os.Args[0], "-test.run=^TestDevices$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder, "CUDASIM_KERNELS=stub", simulated+"="+folder)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestDevices") {
		t.Errorf("%v\n%s", err, out)
	}
}

// writeBundles writes the bundle files plain and compiled of model tinyglm.
func writeBundles(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile("specs/tinyglm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := generated.Bundles()
	b := all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "tinyglm" })]
	ptx, err := devicetest.PTX(b)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, ptx); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, ptx := range map[string]map[string][]byte{plain: nil, compiled: {b.Name: packed.Bytes()}} {
		data, err := bundlefile.Encode(&bundlefile.File{Spec: text, Bundles: []*plan.Bundle{b}, PTX: ptx})
		if err == nil {
			err = bundlefile.Write(filepath.Join(folder, name), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// onGPU checks, on the simulated GPU, the device and the notes of Open. The test program has no PTX files.
func onGPU(t *testing.T, folder string) {
	const gpu = "simulated NVIDIA GPU"
	for _, tt := range []struct {
		device, bundle, want string
		note                 string // part of the expected note; "": no note
	}{
		{"", compiled, gpu, ""},
		{"cuda", compiled, gpu, ""},
		{"cpu", compiled, "cpu", ""},
		{"", plain, "cpu", "it has no kernels for NVIDIA GPUs"},
		{"cuda", plain, "it has no kernels for NVIDIA GPUs", ""},
		{"", "", "cpu", "bundle tinyglm: " + beside},
		{"cuda", "", "bundle tinyglm: " + beside, ""},
	} {
		var notes []string
		o := mla.Options{Device: tt.device, Context: 64, Note: func(line string) { notes = append(notes, line) }}
		if tt.bundle != "" {
			o.Bundle = filepath.Join(folder, tt.bundle)
		}
		m, err := mla.Open(tiny, o)
		if said := strings.Join(notes, "\n"); !strings.Contains(said, tt.note) || tt.note == "" && said != "" {
			t.Errorf("%+v: it notes %q", tt, said)
		}
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
