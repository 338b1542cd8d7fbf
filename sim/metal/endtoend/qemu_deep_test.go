//go:build linux && amd64 && deep

package endtoend_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// sysroot is where Debian's cross compiler has the loader and libraries of arm64.
const sysroot = "/usr/aarch64-linux-gnu"

// TestArm64 runs mlarun for linux/arm64 under an emulator. Apple Silicon follows
// the same calling convention but for variadic functions and small arguments on
// the stack; the kernels run on fibers that switch the registers of arm64.
func TestArm64(t *testing.T) {
	const emulator = "qemu-aarch64"
	if _, err := exec.LookPath(emulator); err != nil {
		t.Fatalf("%v; scripts/tools.sh installs it", err)
	}
	arm64, err := build(t.TempDir(), "arm64")
	if err != nil {
		t.Fatal(err)
	}
	arm64.prefix = []string{emulator, "-L", sysroot}
	ref := readReference(t, root+"testdata/reference/youtu-tiny-F32.gguf")
	t.Run("logits", func(t *testing.T) { arm64.checkLogits(t, ref, "f32", nil) })
	t.Run("20 tokens", func(t *testing.T) {
		o, ids := arm64.greedy(t, ref, 20, "METALSIM_KERNELS=fast")
		if !slices.Equal(ids[:min(len(ids), len(ref.greedy))], ref.greedy) {
			t.Errorf("tokens %v; want %v …", ids, ref.greedy)
		}
		if err := o.left.clean(); err != nil {
			t.Error(err)
		}
	})
	// Without kernels memory stays zero, and so do logits and tokens.
	t.Run("200 tokens, kernels stubbed", func(t *testing.T) {
		o, ids := arm64.greedy(t, ref, long, "METALSIM_KERNELS=stub")
		if len(ids) != long || strings.Trim(strings.Join(ids, ""), "0") != "" {
			t.Errorf("tokens %v; want %d times 0", ids, long)
		}
		if err := o.left.clean(); err != nil {
			t.Error(err)
		}
	})
}
