package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// trustRig runs mlarun with -replay auto on a simulated GPU.
type trustRig struct {
	lib      string // the simulator
	cache    string // the user's
	children string // see childrenVariable
	want     string // the CPU's tokens
}

const trustLine = "greedy -tokens 3,40,200,7 -n 4 -ahead 0 -model " + references + "youtu-tiny-F32.gguf"

func newTrustRig(t *testing.T) *trustRig {
	t.Helper()
	cpu := mlarun("", strings.Fields(trustLine+" -device cpu")...)
	if cpu.code != exitOK {
		t.Fatal(cpu.err)
	}
	folder := t.TempDir()
	return &trustRig{lib: simulator(t), cache: filepath.Join(folder, "cache"), children: filepath.Join(folder, "children"), want: cpu.out}
}

// run wants the CPU's tokens and nothing else on stdout, so many new children, and
// says what stands on stderr.
func (r *trustRig) run(t *testing.T, children int, variables []string, more ...string) string {
	t.Helper()
	before := r.started(t)
	variables = append([]string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + r.cache, childrenVariable + "=" + r.children}, variables...)
	got := process(t, variables, append(append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", r.lib), more...)...)
	if got.code != exitOK || got.out != r.want {
		t.Fatalf("exit code %d, %q; expected %q\n%s", got.code, got.out, r.want, got.err)
	}
	if n := r.started(t) - before; n != children {
		t.Errorf("%d processes; expected %d\n%s", n, children, got.err)
	}
	return got.err
}

func (r *trustRig) started(t *testing.T) int {
	t.Helper()
	list, err := os.ReadFile(r.children)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(list, []byte("\n"))
}

// verdict is the only file of verdicts, and what it holds.
func (r *trustRig) verdict(t *testing.T) (path, text string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.cache, "mla", "icb-*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v; expected one verdict", list, err)
	}
	data, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return list[0], string(data)
}

const (
	takesEncode = "-replay auto takes encode"
	crashes     = "METALSIM_FAULT=icb-segv"
)

// TestTrust tries ICBs in another process, once.
func TestTrust(t *testing.T) {
	r := newTrustRig(t)
	for range 2 {
		if said := r.run(t, 1-min(1, r.started(t)), nil); strings.Contains(said, takesEncode) {
			t.Error(said)
		}
	}
	// Other circumstances are another question, and its answer replaces the first.
	for _, children := range []int{1, 0} {
		said := r.run(t, children, []string{crashes})
		path, _ := r.verdict(t)
		for _, want := range []string{takesEncode, "indirect command buffer: CRASHED: SIGSEGV", "-replay icb", "-replay encode", path} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q in %q", want, said)
			}
		}
		if strings.Contains(said, "goroutine") || strings.Count(said, takesEncode) != 1 {
			t.Error(said)
		}
	}
	if said := r.run(t, 0, []string{crashes}, "-quiet"); said != "" {
		t.Errorf("with -quiet: %q", said)
	}
	if said := r.run(t, 0, []string{crashes}, "-replay", "encode"); strings.Contains(said, "-replay") {
		t.Error(said)
	}
	if said := r.run(t, 1, nil); strings.Contains(said, takesEncode) {
		t.Error(said)
	}
	r.run(t, 0, []string{"METALSIM_GPU=paravirtual"})
	r.run(t, 0, nil, "-replay", "icb")
}

// TestTrustWrong has a command buffer of the test fail, without a crash. The model's
// third fails too.
func TestTrustWrong(t *testing.T) {
	r := newTrustRig(t)
	got := process(t, []string{"METALSIM_FAULT=replay:3", "METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + r.cache},
		append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", r.lib)...)
	if got.code != exitError || !strings.Contains(got.err, takesEncode) || !strings.Contains(got.err, "failed: indirect command buffer: the GPU's commands: injected failure") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if _, text := r.verdict(t); !strings.Contains(text, "injected failure") {
		t.Error(text)
	}
}

// TestTrustFile has something else where the verdict should be, or cannot have it.
func TestTrustFile(t *testing.T) {
	r := newTrustRig(t)
	r.run(t, 1, nil)
	path, good := r.verdict(t)
	for name, text := range map[string]string{"empty": "", "truncated": good[:len(good)/2], "foreign": strings.Replace(good, "Apple M3", "Apple M9", 1), "huge": good + strings.Repeat("\n", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.run(t, 1, nil)
		if _, text := r.verdict(t); text != good {
			t.Errorf("%s: written anew: %s", name, text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.run(t, 1, nil) // not kept, so tried every time
	}
	r.cache = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(r.cache, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.run(t, 1, nil)
	if said := r.run(t, 1, []string{crashes}); !strings.Contains(said, takesEncode) || strings.Contains(said, "without the file") {
		t.Error(said)
	}
}

// TestTrustGone: without a second process there is no test. That says nothing about
// the GPU, and is not kept.
func TestTrustGone(t *testing.T) {
	r := newTrustRig(t)
	said := r.run(t, 1, []string{goneVariable + "=1"})
	if !strings.Contains(said, takesEncode) || !strings.Contains(said, "no such file") || strings.Contains(said, "without the file") {
		t.Error(said)
	}
	if said := r.run(t, 1, nil); strings.Contains(said, takesEncode) {
		t.Error(said)
	}
}

// TestTrustTogether starts several at once.
func TestTrustTogether(t *testing.T) {
	r := newTrustRig(t)
	r.run(t, 1, nil) // for the kernels
	path, good := r.verdict(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			got := process(t, []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + r.cache, childrenVariable + "=" + r.children},
				append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", r.lib)...)
			if got.code != exitOK || got.out != r.want || strings.Contains(got.err, takesEncode) {
				t.Errorf("exit code %d, %q\n%s", got.code, got.out, got.err)
			}
		})
	}
	all.Wait()
	if _, text := r.verdict(t); text != good {
		t.Error(text)
	}
}
