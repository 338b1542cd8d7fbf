//go:build deep

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/tune"
)

// TestTuneCUDA goes the way of a machine with a compiler and one with a GPU. Times of
// the stand-in mean nothing: only that a search runs and leaves a spec that compiles.
func TestTuneCUDA(t *testing.T) {
	path, _ := tinyCopy(t)
	cache := filepath.Join(t.TempDir(), "kernels")
	env := []string{"CUDASIM_KERNELS=stub", "CUDASIM_L2=1000"}
	args := []string{"tune", "-spec", path, "-quant", "f32", "-act", "f16", "-device", "cuda", "-cuda-lib", standIn(t, "libcudasim.so"),
		"-kernels", "o_proj,down", "-beam", "1", "-depth", "0,16", "-budget", "10m", "-cache", cache}

	out, err := process(env, args...)
	if err != nil || !strings.Contains(out, "\nkernel") || !strings.Contains(out, "\no_proj  rows 4, simdgroups 4, split_k 1") {
		t.Fatalf("%v\n%s", err, out)
	}
	if code, _, stderr := mlagen("-spec", path, "-out", t.TempDir()); code != exitOK {
		t.Errorf("the spec that is left: %s", stderr)
	}
	files, err := os.ReadDir(cache)
	if err != nil || len(files) < 15 { // ten kernels, and shapes of two of them
		t.Errorf("%d compiled kernels, %v", len(files), err)
	}

	noCompiler := append(env, "PATH=")
	args = append(args, "-budget", "0s") // measures what the spec says
	if out, err := process(noCompiler, args...); err != nil || !strings.Contains(out, "stays as it is") {
		t.Errorf("from the cache: %v\n%s", err, out)
	}
	if out, err := process(noCompiler, append(args, "-by", "token")...); err != nil || !strings.Contains(out, "stays as it is") {
		t.Errorf("whole tokens: %v\n%s", err, out)
	}
	if out, err := process(noCompiler, append(args, "-cache", t.TempDir())...); err == nil || !strings.Contains(out, "make it with -compile-only") || !strings.Contains(out, "clang-19") {
		t.Errorf("without a cache: %v\n%s", err, out)
	}
}

// TestTuneInterrupted interrupts a search at the first thing it says, when the model
// and the first kernels are in its temporary folder: none of it stays, nor does the
// spec change.
func TestTuneInterrupted(t *testing.T) {
	path, text := tinyCopy(t)
	temporary := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CUDASIM_KERNELS=stub", "TMPDIR="+temporary, argsVariable+"="+strings.Join([]string{"tune", "-spec", path,
		"-quant", "f32", "-device", "cuda", "-cuda-lib", standIn(t, "libcudasim.so"), "-budget", "10m"}, "\t"))
	var says interrupter
	says.cmd, cmd.Stdout, cmd.Stderr = cmd, &says, &says
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v; expected exit code %d\n%s", err, exitInterrupted, &says)
	}
	now, err := os.ReadFile(path)
	if left, _ := os.ReadDir(temporary); err != nil || len(left) > 0 || string(now) != string(text) {
		t.Errorf("%v, left behind: %v; the spec is now\n%s", err, left, now)
	}
}

// TestTuneMetal measures whole tokens, and starts with the tuning for Apple GPUs.
func TestTuneMetal(t *testing.T) {
	path, text := tinyCopy(t)
	text = append(text, "tuning: {kernels: {o_proj: {rows_per_simdgroup: 2}}, devices: {apple: {kernels: {o_proj: {rows_per_simdgroup: 8}}}, nvidia: {kernels: {o_proj: {unroll: 2}}}}}\n"...)
	writeFile(t, path, string(text))
	out, err := process([]string{"METALSIM_KERNELS=stub"}, "tune", "-spec", path, "-quant", "f32", "-device", "metal",
		"-metal-lib", standIn(t, "libmetalsim.so"), "-kernels", "o_proj", "-budget", "0s")
	if err != nil || !strings.Contains(out, "o_proj: ") || !strings.Contains(out, " with rows 8, ") || !strings.Contains(out, "unroll 4, noise") || !strings.Contains(out, "stays as it is") {
		t.Fatalf("%v\n%s", err, out)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(text) {
		t.Errorf("%v; the spec is now\n%s", err, now)
	}
}

// TestTuneCompileOnly checks that each shape of a kernel is compiled once, and that the files in the cache
// are a bundle's PTX.
func TestTuneCompileOnly(t *testing.T) {
	rigs := []*rig{{spec: tinyF32(t)}}
	knobs, err := tune.Knobs(rigs[0].spec, []string{"k_b"})
	if err != nil {
		t.Fatal(err)
	}
	knobs[0].Values = knobs[0].Values[:3]
	f := &tuneFlags{cache: filepath.Join(t.TempDir(), "kernels")}
	var says strings.Builder
	if err := f.compileAll(rigs, knobs, &says); err != nil {
		t.Fatal(err)
	}
	before := modified(t, f.cache)
	if err := f.compileAll(rigs, knobs, &says); err != nil {
		t.Fatal(err)
	}
	if after := modified(t, f.cache); strings.Count(before, "\n") != 12 || before != after { // ten kernels, one in three shapes
		t.Errorf("%s%s\nafterwards:\n%s", &says, before, after)
	}

	b, _, err := tune.Trial(rigs[0].spec, rigs[0].spec.Tuning)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newKernelCache(f.cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // no compiler
	text, err := c.bundle(b)
	if err != nil || strings.Count(text, ".visible .entry ") != 10 || strings.Count(text, ".version ") != 1 {
		t.Errorf("%v\n%.2000s", err, text)
	}
	pieces, err := keyed(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path(slices.Sorted(maps.Keys(pieces))[0]), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (&kernelCache{f.cache, map[string]string{}}).bundle(b); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("damaged: %v", err)
	}
}

// process is mlagen in a process of its own.
func process(env []string, args ...string) (out string, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), argsVariable+"="+strings.Join(args, "\t")), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// standIn is a library that `make sim` builds.
func standIn(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../build/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make sim builds it", err)
	}
	return path
}

// tinyCopy is the smallest spec in a folder of its own.
func tinyCopy(t *testing.T) (path string, text []byte) {
	t.Helper()
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "tiny.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, text
}

// interrupter keeps the output of a command, and interrupts the command at the first output, as Ctrl-C does.
type interrupter struct {
	strings.Builder
	cmd *exec.Cmd
}

func (i *interrupter) Write(p []byte) (int, error) {
	if i.Len() == 0 {
		if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
			return 0, err
		}
	}
	return i.Builder.Write(p)
}

// modified lists a folder with times.
func modified(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		list.WriteString(f.Name() + " " + info.ModTime().String() + "\n")
	}
	return list.String()
}

func tinyF32(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Load(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	q, err := spec.ParseQuant("f32")
	if err != nil {
		t.Fatal(err)
	}
	s.Quants = []spec.Quant{q}
	return s
}
