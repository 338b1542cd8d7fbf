//go:build linux && deep

package endtoend_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// interrupted is mlarun's exit status after an interrupt (Ctrl-C).
const interrupted = 130

// TestInterrupt interrupts generation after the first output. The GPU then has the next eight tokens in
// flight. The program must wait for them, drop them, release everything, and the output must be a prefix of
// the complete text.
func TestInterrupt(t *testing.T) {
	args := strings.Fields("-p Once -temp 0 -n 300 -quiet -model " + root + "testdata/tinyglm.gguf")
	whole := host.command(nil, append(args, "-device", "cpu"))
	if whole.err != nil {
		t.Fatalf("%v\n%s", whole.err, whole.stderr)
	}
	for _, replay := range []string{"icb", "encode"} {
		t.Run(replay, func(t *testing.T) {
			t.Parallel()
			var once sync.Once // the program handles no other while it ends
			got := host.watched(t, []string{"METALSIM_KERNELS=fast"}, append(args, "-ahead", "8", "-replay", replay), func(p *os.Process) {
				once.Do(func() {
					if err := p.Signal(os.Interrupt); err != nil {
						t.Error(err)
					}
				})
			})
			if exit := (*exec.ExitError)(nil); !errors.As(got.err, &exit) || exit.ExitCode() != interrupted || got.stderr != "" {
				t.Errorf("%v; want status %d\n%.2000s", got.err, interrupted, got.stderr)
			}
			if got.out == "" || len(got.out) >= len(whole.out) || !strings.HasPrefix(whole.out, got.out) {
				t.Errorf("%q is no beginning of %q", got.out, whole.out)
			}
			if err := got.left.clean(); err != nil {
				t.Error(err)
			}
		})
	}
}
