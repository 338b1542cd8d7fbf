//go:build linux && deep

package endtoend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// long is how many tokens a run has that must not leak: far more than command
// buffers that a queue can have (64).
const long = 200

// TestLeaks continues a prompt until a file has computed 200 tokens, and finds
// nothing left. The first ids are those of the reference.
func TestLeaks(t *testing.T) {
	for _, name := range []string{"reference/youtu-tiny-F32", "reference/glm47-tiny-Q4_0", "tinyglm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host.checkLong(t, readReference(t, root+"testdata/"+name+".gguf"), "METALSIM_KERNELS=fast")
		})
	}
}

// checkLong runs the prompt and what follows it, up to 200 tokens.
func (m *machine) checkLong(t *testing.T, ref *reference, settings ...string) {
	t.Helper()
	o, ids := m.greedy(t, ref, long-len(ref.prompt), settings...)
	if n := long - len(ref.prompt); len(ids) != n {
		t.Errorf("%d tokens, want %d", len(ids), n)
	}
	if !slices.Equal(ids[:min(len(ids), len(ref.greedy))], ref.greedy) {
		t.Errorf("tokens %v …; want %v", ids[:min(len(ids), len(ref.greedy))], ref.greedy)
	}
	if err := o.left.clean(); err != nil {
		t.Error(err)
	}
}

// greedy returns n tokens that follow the reference's prompt.
func (m *machine) greedy(t *testing.T, ref *reference, n int, settings ...string) (outcome, []string) {
	t.Helper()
	o := m.metal(t, settings, []string{"greedy", "-quiet", "-kv", "f32", "-model", ref.model, "-tokens", strings.Join(ref.prompt, ","), "-n", fmt.Sprint(n)})
	if o.err != nil || o.stderr != "" {
		t.Fatalf("%v\n%.3000s", o.err, o.stderr)
	}
	return o, strings.Fields(o.out)
}

// TestFailuresLeakNothing ends runs by a failure of the GPU, of the compiler or
// of an allocation. After a command buffer that timed out the GPU is opened anew, and the run goes on.
func TestFailuresLeakNothing(t *testing.T) {
	ref := readReference(t, root+"testdata/reference/youtu-tiny-F32.gguf")
	for fault, want := range map[string]string{
		"FAULT=replay:4": "", "FAULT=lost:3": "the device was lost",
		"FAULT=alloc:5": "cannot allocate", "FAULT=encoder:4": "make a compute encoder",
		"REFUSE=pipeline:embed_f32": "injected failure", "FAULT=library:1": "injected failure",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			o := host.metal(t, []string{"METALSIM_KERNELS=fast", "METALSIM_" + fault},
				[]string{"greedy", "-quiet", "-model", ref.model, "-tokens", strings.Join(ref.prompt, ","), "-n", "20"})
			if (o.err == nil) != (want == "") || !strings.Contains(o.stderr, want) || strings.Contains(o.stderr, "[metalsim]") {
				t.Errorf("%v, want %q:\n%.3000s", o.err, want, o.stderr)
			}
			if o.left.Made == 0 || o.left.Objects != 0 || o.left.Pools != 0 || o.left.InFlight != 0 {
				t.Errorf("left at the end: %+v", o.left)
			}
		})
	}
}
