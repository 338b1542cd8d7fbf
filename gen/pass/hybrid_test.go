package pass

import (
	"testing"

	"mla/gen/spectest"
	"mla/tools/tests/deep"
)

// TestTranslationHybrids is TestTranslation for models with linear attention, of both architectures.
func TestTranslationHybrids(t *testing.T) {
	models, widths := uint64(2), []int{1, 3}
	if deep.On {
		models, widths = 12, []int{1, 2, 3, 8, 16, 24}
	}
	for seed, s := range spectest.Hybrids(models) {
		w := &spectest.Weights{Spec: s}
		for _, width := range widths {
			translate(t, seed, s, w, width)
		}
	}
}
