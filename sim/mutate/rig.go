package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"mla/sim/mutate/model"
)

// rig holds what the trials of mutations need: built programs, reference files and results of the unchanged
// program.
type rig struct {
	ctx     context.Context // cancels all running trials
	root    string
	work    string // temporary folder
	trial   string // path of sim/mutate/trial, built from the unchanged sources
	models  []*model.Model
	passes  map[string]bool // the files on which the unchanged program passed
	library string          // the simulator

	fast      bool     // a small run for CI, which runs the tests of the unchanged program elsewhere
	unchanged sync.Map // verdicts of the unchanged program, as func() verdict, by the command
}

// files are the reference files whose plans and kernels are mutated. They cover dense and MoE models, models
// with and without a low-rank query, and the types F32, Q4_0 and Q4_K_M.
var files = []string{"youtu-tiny-F32", "glm47-tiny-Q4_0", "youtu-mini-Q4_K_M", "dsv2lite-mini-Q4_K_M"}

func newRig(ctx context.Context, root string) (*rig, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &rig{ctx: ctx, root: root, library: filepath.Join(root, "build", "libmetalsim.so")}
	if _, err := os.Stat(r.library); err != nil {
		return nil, fmt.Errorf("%w; make sim builds the simulator", err)
	}
	for _, f := range files {
		m, err := model.Open(r.stem(f))
		if err != nil {
			return nil, err
		}
		r.models = append(r.models, m)
	}
	r.work, err = os.MkdirTemp("", "mutate")
	return r, err
}

func (r *rig) path(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

func (r *rig) stem(file string) string { return r.path("testdata", "reference", file) }

func (r *rig) close() {
	for _, m := range r.models {
		_ = m.Close() // the file was only read
	}
	_ = os.RemoveAll(r.work) // a failure leaves a temporary folder behind
}

// mutations lists all mutations.
func (r *rig) mutations() ([]mutation, error) {
	all := append(r.plans(), r.kernels()...)
	templates, err := r.templates()
	if err != nil {
		return nil, err
	}
	sources, err := r.sources()
	return slices.Concat(all, templates, sources), err
}

// prepare builds the trial, demands that it passes without a mutation, and keeps the bits of the logits.
func (r *rig) prepare(chosen []mutation, fast bool) error {
	r.trial, r.passes, r.fast = filepath.Join(r.work, "trial"), map[string]bool{}, fast
	if out, err := r.build(r.trial, ""); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	needed := map[string]bool{}
	for _, m := range chosen {
		needed[m.file] = m.file != ""
		if m.kind() == "msl" && !fast { // functions that several files share
			for _, f := range files {
				needed[f] = true
			}
		}
	}
	for _, f := range files {
		if needed[f] {
			if v := r.run(r.trial, nil, r.short(f)...); v != (verdict{}) {
				return fmt.Errorf("%s: the unchanged program does not pass: %+v", f, v)
			}
			r.passes[f] = true
		}
	}
	return nil
}

// passesUnchanged demands that a check passes without a mutation. The check runs on first use, and its
// verdict is kept.
func (r *rig) passesUnchanged(name string, run func() verdict) error {
	once, _ := r.unchanged.LoadOrStore(name, sync.OnceValue(run))
	if v := once.(func() verdict)(); v != (verdict{}) {
		return fmt.Errorf("the unchanged program does not pass %s: %+v", name, v)
	}
	return nil
}

// stripped omits the symbol table and DWARF, which take most of the time of linking.
const stripped = "-ldflags=-s -w"

// build builds the trial, with an overlay of changed files.
func (r *rig) build(to, overlay string) ([]byte, error) {
	cmd := exec.Command("go", "build", stripped, "-overlay", overlay, "-o", to, "./sim/mutate/trial")
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}

// short returns the arguments of a trial with both element types of the cache that covers two splits of
// attention. The second split has more than eight rows, the height of a block of matrix attention.
func (r *rig) short(file string) []string {
	return []string{"-file", r.stem(file), "-kv", "f32,f16", "-tokens", "25", "-bits", filepath.Join(r.work, file+".bits")}
}

// cache keeps the trials' compiled kernels out of the user's kernel cache, because most of them belong to a
// mistake and are never used again.
func (r *rig) cache() string { return "MLA_KERNEL_CACHE=" + r.path("build", "mutate") }

// run runs a trial and returns what caught the mutation.
func (r *rig) run(trial string, env []string, args ...string) verdict {
	return r.look(append([]string{"METALSIM_STRICT=1"}, env...), trial, append([]string{"-lib", r.library}, args...)...)
}

// look runs a program that should notice a mistake. All its child processes end with it: a mistake can make a
// kernel endless, and kernels run in a child process.
func (r *rig) look(env []string, program string, args ...string) verdict {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = r.root, append(append(os.Environ(), r.cache()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return verdict{broken: err}
	}
	var late atomic.Bool
	go func() {
		if limits.exceeded(ctx, cmd.Process.Pid) {
			late.Store(true)
			cancel()
		}
	}()
	err := cmd.Wait()
	switch {
	case r.ctx.Err() != nil:
		return verdict{broken: r.ctx.Err()}
	case err == nil:
		return verdict{}
	case late.Load():
		return verdict{by: "its running time"}
	default:
		return judge(out.Bytes(), err)
	}
}

// signs are texts in the output of a trial or a test, with the name of the check that prints them. The first
// match counts, so the most specific are first.
var signs = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(?:the strict front end|clang) rejects the source`), ""},
	{regexp.MustCompile(`(?:RULE kernel-fault: .*|dispatch \d+): (out-of-bounds|barrier-divergence|simd-divergence|store-conflict|uninitialised|threadgroup-race|device-race|launch): `), "the executor: "},
	{regexp.MustCompile(`(AddressSanitizer): |\d: (runtime error): `), "the sanitizers: "},
	{regexp.MustCompile(`\[metalsim\] RULE ([\w-]+):`), "the simulator: "},
	{regexp.MustCompile(`(?m)^(logits|picks|bits|leak|error|refused): `), "the trial: "},
	{regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`), "test "},
	{regexp.MustCompile(`(?m)^(panic|fatal error): `), "Go: "},
	{regexp.MustCompile(`(?m)^(SIG\w+)`), "Go: "},
}

// judge derives the verdict from a program's output and its error.
func judge(out []byte, err error) verdict {
	for _, s := range signs {
		if f := s.pattern.FindSubmatch(out); f != nil {
			if len(f) == 1 {
				return verdict{invalid: true}
			}
			return verdict{by: s.by + string(bytes.Join(f[1:], nil))}
		}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return verdict{by: strings.TrimSpace(fmt.Sprintf("%s %s", exit, line))}
	}
	return verdict{by: err.Error()}
}
