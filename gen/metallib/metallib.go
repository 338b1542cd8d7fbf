// Package metallib compiles the kernels of a bundle with Apple's compiler, on a Mac with Xcode. It uses the
// options with which the runtime compiles from source, as scripts/metallib.sh does for the bundles of the
// repository.
package metallib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mla/runtime/plan"
)

// Build returns a Metal library of all kernels of b. The error has the compiler's output.
func Build(b *plan.Bundle) ([]byte, error) {
	work, err := os.MkdirTemp("", "metallib")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	source, air, library := filepath.Join(work, "kernels.metal"), filepath.Join(work, "kernels.air"), filepath.Join(work, "kernels.metallib")
	if err := os.WriteFile(source, []byte(b.Metal()), 0o600); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		append(append([]string{"metal"}, flags...), "-c", source, "-o", air),
		{"metallib", air, "-o", library},
	} {
		if out, err := exec.Command("xcrun", append([]string{"-sdk", "macosx"}, args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("bundle %s: Apple's compiler (xcrun %s; it needs a Mac with Xcode 15 or later, and from Xcode 26 on its Metal toolchain): %w\n%.4000s", b.Name, args[0], err, out)
		}
	}
	return os.ReadFile(library)
}

// flags select the version of the language and of macOS that all bundles need, and precise arithmetic. A
// pragma in the source forbids contraction.
var flags = []string{"-std=metal3.1", "-mmacosx-version-min=14.0", "-fno-fast-math"}
