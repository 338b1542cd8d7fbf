//go:build deep

package replay_test

import (
	"path/filepath"
	"testing"

	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/synth"
)

// TestVariants runs every kernel function of the small bundles, on files of all
// profiles with random weights, and compares the logits with those of the CPU
// device's Go twins. With all checks TestReference runs the same bundles, and gen/msl the
// same functions.
func TestVariants(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Fast)
	for _, name := range small {
		t.Run(name, func(t *testing.T) {
			s, err := spec.Load(root + "specs/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			used := map[string]int{}
			for _, q := range s.Quants {
				file := filepath.Join(t.TempDir(), "model.gguf")
				if err := synth.Write(t.Context(), s, q.Name, file, 1); err != nil {
					t.Fatal(err)
				}
				compareWithTwins(t, d, bindFile(t, file, "f32"), used)
			}
			b := bundle(t, name)
			for _, d := range b.Decode { // the sampler's kernels have tests of their own in gen/msl
				for _, v := range b.Kernels[d.Kernel].Variants {
					if used[v.Func] == 0 {
						t.Errorf("%s: no profile runs it", v.Func)
					}
				}
			}
		})
	}
}
