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

// rig is what mutations are tried with.
type rig struct {
	ctx     context.Context // ends all that runs
	root    string
	work    string // temporary folder
	trial   string // sim/mutate/trial as it is
	models  []*model.Model
	passes  map[string]bool // the files that the unchanged program was tried on
	library string          // the simulator

	fast      bool     // the draw of CI, which runs the tests of the unchanged program itself
	unchanged sync.Map // by what is run: a func() verdict of the unchanged program
}

// files are the reference files whose plans and kernels are mutated: dense and
// MoE, with and without a low-rank query, with the types F32, Q4_0 and Q4_K_M.
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
		_ = m.Close() // only read
	}
	_ = os.RemoveAll(r.work) // a temporary folder
}

// mutations lists all there are.
func (r *rig) mutations() ([]mutation, error) {
	all := append(r.plans(), r.kernels()...)
	templates, err := r.templates()
	if err != nil {
		return nil, err
	}
	sources, err := r.sources()
	return slices.Concat(all, templates, sources), err
}

// prepare builds the trial and demands that it passes without a mutation; it keeps
// the logits' bits.
func (r *rig) prepare(chosen []mutation, fast bool) error {
	r.trial, r.passes, r.fast = filepath.Join(r.work, "trial"), map[string]bool{}, fast
	if out, err := r.build(r.trial, ""); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	needed := map[string]bool{}
	for _, m := range chosen {
		needed[m.file] = m.file != ""
		if m.kind() == "msl" && !fast { // functions that files share
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

// passesUnchanged demands of what catches mutations that it passes without one. It is
// run when it is first needed.
func (r *rig) passesUnchanged(name string, run func() verdict) error {
	once, _ := r.unchanged.LoadOrStore(name, sync.OnceValue(run))
	if v := once.(func() verdict)(); v != (verdict{}) {
		return fmt.Errorf("the unchanged program does not pass %s: %+v", name, v)
	}
	return nil
}

// stripped leaves out what only debuggers read: most of a link's time.
const stripped = "-ldflags=-s -w"

// build compiles the trial, with an overlay of changed files.
func (r *rig) build(to, overlay string) ([]byte, error) {
	cmd := exec.Command("go", "build", stripped, "-overlay", overlay, "-o", to, "./sim/mutate/trial")
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}

// short is a run of both types of cache over two splits of attention; the second one
// has more rows than a block of matrix attention, eight.
func (r *rig) short(file string) []string {
	return []string{"-file", r.stem(file), "-kv", "f32,f16", "-tokens", "25", "-bits", filepath.Join(r.work, file+".bits")}
}

// cache keeps compiled kernels apart from the user's, most of which no mistake would leave there.
func (r *rig) cache() string { return "MLA_KERNEL_CACHE=" + r.path("build", "mutate") }

// run starts a trial and says what caught it.
func (r *rig) run(trial string, env []string, args ...string) verdict {
	return r.look(append([]string{"METALSIM_STRICT=1"}, env...), trial, append([]string{"-lib", r.library}, args...)...)
}

// look runs a program that is to notice a mistake. Whatever it has started ends with it:
// kernels that a mistake makes endless run in a process of their own.
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

// What a trial or a test prints, the most telling first.
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

// judge reads what was printed.
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
