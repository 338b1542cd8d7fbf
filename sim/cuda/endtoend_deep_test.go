//go:build linux && deep

package cuda_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mla/gen/ptx"
	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/system/npy"
)

// without is a bundle that has no PTX file beside the test program.
const without = "glm47tiny"

// mlarun builds the program and the PTX files of two bundles in a temporary folder, as `make ptx build` does, and
// returns the program's path.
func mlarun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "mlarun")
	if out, err := exec.Command("go", "build", "-o", program, "mla/cmd/mlarun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"tinyglm", "yoututiny"} {
		file, err := ptx.Build(bundle(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ptxfile.FileName(name)), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// bundle returns the bundle with a name.
func bundle(name string) *plan.Bundle {
	all := generated.Bundles()
	return all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })]
}

// line returns the command that runs program with args on the stand-in. The stand-in runs the Metal source of the
// named bundle.
func line(program, name, args string, env ...string) (*exec.Cmd, error) {
	cmd := exec.Command(program, append(strings.Fields(args), "-cuda-lib", os.Getenv(libVariable))...)
	metal := filepath.Join(filepath.Dir(program), name+".metal")
	if err := os.WriteFile(metal, []byte(bundle(name).Metal()), 0o600); err != nil {
		return nil, err
	}
	cmd.Env = append(append(os.Environ(), "CUDASIM_METAL="+metal, "CUDASIM_KERNELS=fast"), env...)
	return cmd, nil
}

// run runs the command that line returns, and returns its output.
func run(program, name, args string, env ...string) (stdout, stderr string, err error) {
	cmd, err := line(program, name, args, env...)
	if err != nil {
		return "", "", err
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// interrupter keeps the output of a command, and interrupts the command at the first output, as Ctrl-C does.
type interrupter struct {
	text []byte
	cmd  *exec.Cmd
}

func (i *interrupter) Write(p []byte) (int, error) {
	if len(i.text) == 0 {
		if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
			return 0, err
		}
	}
	i.text = append(i.text, p...)
	return len(p), nil
}

const references = "../../testdata/reference/"

// TestProgram checks mlarun on the stand-in, with PTX files beside the program.
func TestProgram(t *testing.T) {
	program := mlarun(t)
	youtu := " -device cuda -kv f32 -model " + references + "youtu-tiny-F32.gguf"

	t.Run("logits", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "logits.npy")
		if _, stderr, err := run(program, "yoututiny", "logits -tokens "+prompt(t, "youtu-tiny-F32")+" -o "+path+youtu); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		got, want := array(t, path), array(t, references+"youtu-tiny-F32.logits.npy")
		if len(got) != len(want) {
			t.Fatalf("%d logits; expected %d", len(got), len(want))
		}
		for i := range want {
			// Another order of float32 sums, as on the CPU.
			if !(math.Abs(float64(got[i])-float64(want[i])) <= 1e-3) {
				t.Fatalf("logit %d is %g; expected %g", i, got[i], want[i])
			}
		}
	})
	t.Run("ahead", func(t *testing.T) {
		const args = "greedy -tokens 3,40,200,7 -n 17 -quiet"
		want, stderr, err := run(program, "yoututiny", args+" -ahead 0"+youtu)
		if err != nil || want == "" {
			t.Fatalf("%v\n%s", err, stderr)
		}
		for _, unit := range []string{"1", "5"} {
			if got, stderr, err := run(program, "yoututiny", args+" -ahead "+unit+youtu); err != nil || got != want {
				t.Errorf("-ahead %s: %v, %q; expected %q\n%s", unit, err, got, want, stderr)
			}
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		const args = "-p Once -temp 0 -n 300 -quiet -model ../../testdata/tinyglm.gguf"
		whole, stderr, err := run(program, "tinyglm", args+" -device cpu")
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		// Releasing the context before everything else is freed would abort.
		cmd, err := line(program, "tinyglm", args+" -device cuda -ahead 8")
		if err != nil {
			t.Fatal(err)
		}
		out := interrupter{cmd: cmd}
		cmd.Stdout = &out
		err = cmd.Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("%v; want status 130", err)
		}
		if got := string(out.text); got == "" || len(got) >= len(whole) || !strings.HasPrefix(whole, got) {
			t.Errorf("%q is no beginning of %q", got, whole)
		}
	})
	t.Run("compiled", func(t *testing.T) {
		_, stderr, err := run(program, "tinyglm", "-p a -n 1 -v -device cuda -model ../../testdata/tinyglm.gguf", "CUDASIM_KERNELS=fast")
		if err != nil || !regexp.MustCompile(`compiled: \d\d of \d\d kernels from PTX, \d+ of \d+ bytes\n`).MatchString(stderr) {
			t.Errorf("%v\n%s", err, stderr)
		}
	})
	t.Run("kernels", func(t *testing.T) {
		args := "bench -kernels -o csv -d 0,32" + youtu
		out, stderr, err := run(program, "yoututiny", args, "CUDASIM_KERNELS=stub", "CUDASIM_MEMORY=20000000", "CUDASIM_L2=1000")
		if err != nil || !strings.HasPrefix(out, "act,depth,width,functions,count,us,bytes,gb_s,fraction,tflop_s,") || !strings.Contains(out, "\nf32,0,1,embed_f32,1,") || !strings.Contains(out, "\nf32,32,1,attend_f32,3,") {
			t.Errorf("%v\n%s\n%s", err, out, stderr)
		}
	})
	t.Run("auto", func(t *testing.T) {
		args := strings.Replace("greedy -tokens 3,40 -n 1"+youtu, "-device cuda ", "-device auto ", 1)
		if _, stderr, err := run(program, "yoututiny", args); err != nil || !strings.Contains(stderr, "on simulated NVIDIA GPU") {
			t.Errorf("with a GPU: %v\n%s", err, stderr)
		}
		if _, stderr, err := run(program, "yoututiny", args, "CUDASIM_DRIVER=11000"); err != nil || !strings.Contains(stderr, "545 or later") || !strings.Contains(stderr, " on cpu") {
			t.Errorf("with an old driver: %v\n%s", err, stderr)
		}
	})
	t.Run("without PTX", func(t *testing.T) {
		const args, says = "greedy -tokens 3,40 -n 1 -model " + references + "glm47-tiny-Q4_0.gguf -device ", "bundle " + without + ": no kernels of it for NVIDIA GPUs lie beside this program; run make ptx && make build\n"
		want, stderr, err := run(program, without, args+"cpu")
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		if got, stderr, err := run(program, without, args+"auto"); err != nil || got != want || !strings.HasPrefix(stderr, says+"so the CPU runs the model\n") || !strings.Contains(stderr, " on cpu,") {
			t.Errorf("-device auto: %v, %q; expected %q\n%s", err, got, want, stderr)
		}
		if _, stderr, err := run(program, without, args+"cuda"); err == nil || !strings.HasSuffix(stderr, says) {
			t.Errorf("-device cuda: %v\n%s", err, stderr)
		}
		// The doctor's other stages run the shipped model.
		row := regexp.MustCompile(`\n  kernels of ` + without + ` +not made: ` + says)
		if out, stderr, err := run(program, "tinyglm", "doctor -device cuda -t 1ns -n 0"); err != nil || !row.MatchString(out) || strings.Count(out, "kernels of "+without) != 1 {
			t.Errorf("doctor: %v\n%s\n%s", err, out, stderr)
		}
	})
	t.Run("without any PTX", func(t *testing.T) {
		alone := filepath.Join(t.TempDir(), "mlarun")
		if err := os.Link(program, alone); err != nil {
			t.Fatal(err)
		}
		const says = "no kernels of it for NVIDIA GPUs lie beside this program; run make ptx && make build\n"
		out, stderr, err := run(alone, "tinyglm", "doctor -device cuda -t 1ns -n 100")
		for _, row := range []string{`compile +not made: none of \d+ bundles runs here; bundle \w+: `, `kernels +not made: none of \d+ bundles runs here; bundle \w+: `, `tokens +not made: bundle tinyglm: `, `prompts +not made: bundle tinyglm: `} {
			if !regexp.MustCompile(`\n  ` + row + says).MatchString(out) {
				t.Errorf("no row %q", row)
			}
		}
		if err != nil || !strings.HasSuffix(out, "\nresult: ok, but not checked: compile, kernels, tokens, prompts\n") || t.Failed() {
			t.Errorf("%v\n%s\n%s", err, out, stderr)
		}
	})
	t.Run("stress", func(t *testing.T) {
		args := "doctor -quiet -stress 5" + youtu
		if out, stderr, err := run(program, "yoututiny", args); err != nil || !strings.Contains(out, "\n  5 replays of two tokens") || !strings.Contains(out, "; 0 differ\n  stress                        5 replays with the same bits  ok\n  ok, ") || !strings.HasSuffix(out, "\nresult: ok\n") {
			t.Errorf("%v\n%s\n%s", err, out, stderr)
		}
		out, stderr, err := run(program, "yoututiny", args, "CUDASIM_KERNELS=run", "CUDASIM_FLIP=lm_head:5")
		if err == nil || !strings.Contains(out, "; 1 differ\n  stress                        FAILED: replay 3: element 383 of the logits is 0x") || !strings.Contains(out, "\nresult: 1 FAILED\n") {
			t.Errorf("with a wrong bit: %v\n%s\n%s", err, out, stderr)
		}
		if _, stderr, err := run(program, "yoututiny", "doctor -stress 2"+youtu); err == nil || !strings.Contains(stderr, "-stress needs a -model, and 3 replays or more") {
			t.Errorf("two replays: %v\n%s", err, stderr)
		}
	})
	t.Run("doctor", func(t *testing.T) {
		const compiles = "doctor -device cuda -n 0 -t 0s"
		if out, stderr, err := run(program, "tinyglm", compiles); err != nil || !strings.Contains(out, "kernels of tinyglm            ready in ") {
			t.Errorf("%v\n%s\n%s", err, out, stderr)
		}
		if out, _, err := run(program, "tinyglm", compiles, "CUDASIM_FAULT=cuModuleLoadDataEx:1:218"); err == nil || !strings.Contains(out, "compile the kernels: ") || !strings.HasSuffix(out, "\nresult: 1 FAILED\n") {
			t.Errorf("a compiler that fails: %v\n%s", err, out)
		}
		auto := strings.Replace("doctor -n 4"+youtu, "-device cuda ", "", 1)
		for want, env := range map[string]string{"  9.0\n": "CUDASIM_DEVICES=1", "inner loops": "CUDASIM_DEVICES=0"} {
			if out, stderr, err := run(program, "yoututiny", auto, env); err != nil || !strings.Contains(out, want) || !strings.HasSuffix(out, "result: ok\n") {
				t.Errorf("%s: %v\n%s\n%s", env, err, out, stderr)
			}
		}
	})
}

// prompt is the tokens of a reference, separated by commas.
func prompt(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(references + name + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "prompt "); ok {
			return strings.Join(strings.Fields(list), ",")
		}
	}
	t.Fatal("no prompt")
	return ""
}

func array(t *testing.T, path string) []float32 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, _, _, err := npy.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
