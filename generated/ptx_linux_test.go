package generated

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestPTXRefuses: kernels of another bundle or another version are not handed out.
func TestPTXRefuses(t *testing.T) {
	changed := *Bundles()[0]
	changed.Source += "\n"
	for _, tt := range []struct {
		b    *plan.Bundle
		says string
	}{
		{&plan.Bundle{Name: "unknown"}, "bundle unknown is not compiled for NVIDIA GPUs; run make ptx"},
		{&changed, "is not from this kernels.metal; run make ptx"},
	} {
		if _, err := PTX(tt.b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("PTX says %v, want %q", err, tt.says)
		}
	}
}
