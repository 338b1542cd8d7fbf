//go:build linux && deep

package endtoend_test

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mla/runtime/doctor/devicetest"
	"mla/runtime/plan/bundlefile"
)

// TestBundleFile runs the commands of a user with downloaded programs and a model without a built-in bundle,
// in an empty folder with an empty PATH. The logits must be those of the reference on the CPU and on Metal.
// Only the simulator has a compiler.
func TestBundleFile(t *testing.T) {
	programs := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "release", "-ldflags", "-s -w", "-o", programs, "mla/cmd/mlagen", "mla/cmd/mlarun") // as make build and make dist
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const most = 30_000_000 // bytes of a program, so that it is quick to load and to start
	for _, name := range []string{"mlagen", "mlarun"} {
		if info, err := os.Stat(filepath.Join(programs, name)); err != nil || info.Size() > most {
			t.Errorf("%s: %v, %v; expected at most %d bytes", name, info, err, most)
		}
	}
	models, err := filepath.Glob(root + "testdata/models/*.gguf")
	if err != nil || len(models) == 0 {
		t.Fatalf("no models: %v", err)
	}
	hybrids, err := filepath.Glob(root + "testdata/hybrid/*.gguf")
	if err != nil || len(hybrids) == 0 {
		t.Fatalf("no hybrid models: %v", err)
	}
	models = append(models, hybrids...)
	onMetal := map[string]bool{"plm-mini-Q4_K_M": true, "gigachat3-mini-Q4_0": true, "kimi-linear-mini-Q4_0": true} // dense, of experts, hybrid
	for _, model := range models {
		name := strings.TrimSuffix(filepath.Base(model), ".gguf")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := unpack(t, programs, model)
			if o := d.command("./mlagen", "-gguf", "my.gguf"); o.err != nil || !strings.Contains(o.out, "wrote my.mla (") {
				t.Fatalf("%v\n%s%s", o.err, o.out, o.stderr)
			}
			ref := readReference(t, model)
			d.compare(t, ref, "-device", "cpu")
			if onMetal[name] {
				model := filepath.Join(d.folder, "my.gguf")
				host.checkLogits(t, &reference{model: model, prompt: ref.prompt, logits: ref.logits}, "f32", nil, "METALSIM_KERNELS=fast")
				host.checkLogits(t, d.longPrompt(t, model), "f32", nil, "METALSIM_KERNELS=fast")
			}
		})
	}
}

// TestHybridDrafts: drafts by the multi-token prediction layer, of a model with states, leave the text on Metal that the CPU makes
// without: guesses that were wrong are taken back from the states.
func TestHybridDrafts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+bundlefile.Suffix)
	model := root + "testdata/hybrid/bailingmoe3-mini-Q4_0.gguf"
	cmd := exec.Command("go", "run", "mla/cmd/mlagen", "-gguf", model, "-o", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := strings.Fields("-p the -temp 0.7 -seed 5 -n 40 -kv f32 -model " + model + " -bundle " + path)
	cpu := run(exec.Command(host.mlarun, append(args, "-device", "cpu")...), func() {})
	if cpu.err != nil || len(cpu.out) == 0 {
		t.Fatalf("%v\n%s", cpu.err, cpu.stderr)
	}
	o := host.metal(t, []string{"METALSIM_KERNELS=fast"}, append(args, "-draft", "mtp"))
	if o.err != nil || o.out != cpu.out || !strings.Contains(o.stderr, "drafted tokens right") {
		t.Errorf("%v: %q, want %q\n%s", o.err, o.out, cpu.out, o.stderr)
	}
}

// download is a folder with the two programs and a model.
type download struct{ folder string }

// unpack makes one.
func unpack(t *testing.T, programs, model string) *download {
	t.Helper()
	d := &download{t.TempDir()}
	for _, name := range []string{"mlagen", "mlarun"} {
		// No copy: a process that another test starts meanwhile would inherit the file that is
		// written, and a program that somebody writes does not start.
		if err := os.Link(filepath.Join(programs, name), filepath.Join(d.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	// A symbolic link would lead mlarun to files beside the original.
	if err := copyFile(filepath.Join(d.folder, "my.gguf"), model); err != nil {
		t.Fatal(err)
	}
	return d
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, fs.FileMode(0o755))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// command runs a program of the folder, with no other to be found.
func (d *download) command(name string, args ...string) outcome {
	cmd := exec.Command(name, args...)
	cmd.Dir = d.folder
	cmd.Env = []string{"PATH=", "HOME=" + d.folder, "XDG_CACHE_HOME=" + filepath.Join(d.folder, "cache")}
	return run(cmd, func() {})
}

// longPrompt returns a prompt that takes the kernels of 512 rows, with the CPU's logits, computed one token at a
// time.
func (d *download) longPrompt(t *testing.T, model string) *reference {
	t.Helper()
	var prompt []string
	for i := range 300 {
		prompt = append(prompt, strconv.Itoa((37*i+11)%300))
	}
	o := d.command("./mlarun", "logits", "-quiet", "-kv", "f32", "-model", model, "-tokens", strings.Join(prompt, ","), "-o", "long.npy", "-device", "cpu", "-width", "1")
	if o.err != nil {
		t.Fatalf("%v\n%s", o.err, o.stderr)
	}
	logits, _ := readLogits(t, filepath.Join(d.folder, "long.npy"))
	return &reference{model: model, prompt: prompt, logits: logits}
}

// compare runs the prompt and checks the logits against the reference.
func (d *download) compare(t *testing.T, ref *reference, flags ...string) {
	t.Helper()
	o := d.command("./mlarun", append([]string{"logits", "-quiet", "-kv", "f32", "-model", "my.gguf", "-tokens", strings.Join(ref.prompt, ","), "-o", "out.npy"}, flags...)...)
	if o.err != nil || o.stderr != "" {
		t.Fatalf("%v\n%.3000s", o.err, o.stderr)
	}
	got, _ := readLogits(t, filepath.Join(d.folder, "out.npy"))
	if len(got) != len(ref.logits) {
		t.Fatalf("%d logits, want %d", len(got), len(ref.logits))
	}
	for i, want := range ref.logits {
		if diff := math.Abs(float64(got[i]) - float64(want)); !(diff <= tolerances["f32"]) {
			t.Fatalf("logit %d is %g, want %g", i, got[i], want)
		}
	}
}

// TestBundleLibrary checks that precompiled kernels in a bundle file are used and nothing is compiled. In the
// simulator a Metal library is a shared object, taken from the simulator's cache.
func TestBundleLibrary(t *testing.T) {
	work, own, none := t.TempDir(), t.TempDir(), t.TempDir()
	path := filepath.Join(work, "x"+bundlefile.Suffix)
	cmd := exec.Command("go", "run", "mla/cmd/mlagen", "-spec", root+"specs/yoututiny.yaml", "-o", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := strings.Fields("-p Once -temp 0 -n 3 -v -model " + root + "testdata/reference/youtu-tiny-F32.gguf -bundle " + path)
	compiled := host.metal(t, []string{"METALSIM_KERNELS=fast", "MLA_KERNEL_CACHE=" + own}, args)
	if compiled.err != nil || !strings.Contains(compiled.stderr, "kernels from Metal source") {
		t.Fatalf("%v\n%s", compiled.err, compiled.stderr)
	}
	file, err := bundlefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file.Metal["yoututinyapple"] = devicetest.KernelObject(t, own)
	data, err := bundlefile.Encode(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundlefile.Write(path, data); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds what the first has left
		o := host.metal(t, []string{"METALSIM_KERNELS=fast", "MLA_KERNEL_CACHE=" + none}, args)
		if o.err != nil || o.out != compiled.out || !strings.Contains(o.stderr, "kernels from "+filepath.Join(host.files, "mla", "libraries")) {
			t.Errorf("%v: %q, want %q\n%s", o.err, o.out, compiled.out, o.stderr)
		}
	}
	devicetest.NoKernelObject(t, none)
}
