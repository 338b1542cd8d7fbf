//go:build !linux

package generated

import (
	"fmt"

	"mla/runtime/plan"
)

// HasPTX returns an error: kernels for NVIDIA GPUs are part of the program on Linux only.
func HasPTX(b *plan.Bundle) error {
	return fmt.Errorf("bundle %s: this program has kernels for NVIDIA GPUs on Linux only", b.Name)
}

// PTX returns that error.
func PTX(b *plan.Bundle) (string, error) { return "", HasPTX(b) }
