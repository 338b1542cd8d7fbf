//go:build !linux

package generated

import (
	"fmt"

	"mla/runtime/plan"
)

// PTX returns an error: kernels for NVIDIA GPUs are part of the program on Linux only.
func PTX(b *plan.Bundle) (string, error) {
	return "", fmt.Errorf("bundle %s: this program has kernels for NVIDIA GPUs on Linux only", b.Name)
}
