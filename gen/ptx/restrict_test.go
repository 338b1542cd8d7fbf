package ptx

import (
	"testing"

	"mla/generated"
)

// TestRestrict: no kernel writes to the spaces that are __restrict__, whose loads
// may come before GRID_WAIT.
func TestRestrict(t *testing.T) {
	for _, b := range generated.Bundles() {
		for i := range b.Kernels {
			for _, s := range b.Kernels[i].Slots {
				if s.Write && constant[s.Space] {
					t.Errorf("%s: kernel %s writes %s", b.Name, b.Kernels[i].Name, s.Name)
				}
			}
		}
	}
}
