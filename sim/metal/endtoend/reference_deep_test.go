//go:build linux && deep

package endtoend_test

import (
	"strings"
	"testing"
)

// TestLastBlocks runs a bundle with last-block parts, stores delayed, and asks for it where it cannot run.
func TestLastBlocks(t *testing.T) {
	ref := readReference(t, root+"testdata/reference/youtu-tiny-F32.gguf")
	bundle := []string{"-bundle", "yoututinylastblock"}
	t.Run("logits", func(t *testing.T) { host.checkLogits(t, ref, "f32", bundle, "METALSIM_STORE_DELAY=1") })
	t.Run("macOS 14", func(t *testing.T) {
		o := host.metal(t, []string{"METALSIM_OS=14"}, append(bundle, "-quiet", "-model", ref.model, "-p", "x"))
		if o.err == nil || !strings.Contains(o.stderr, "yoututinylastblock has kernels with last-block parts, which need macOS 15 or later") {
			t.Errorf("%v\n%.3000s", o.err, o.stderr)
		}
	})
}
