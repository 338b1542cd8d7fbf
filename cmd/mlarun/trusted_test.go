package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

// run fails unless a command prints the CPU's tokens alone on stdout and starts the given number of
// children. It returns what stands on stderr.
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
