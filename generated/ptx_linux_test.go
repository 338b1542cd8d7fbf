package generated

import (
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestPTXRefuses: kernels of another bundle or another version are not handed out.
func TestPTXRefuses(t *testing.T) {
	all := Bundles()
	changed := *plan.For(plan.ClassNVIDIA, all)[0]
	changed.Source += "\n"
	general := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Class == "" && b.In(plan.ClassNVIDIA, all) != nil })
	for _, tt := range []struct {
		b    *plan.Bundle
		says string
	}{
		{&plan.Bundle{Name: "unknown"}, "bundle unknown is not compiled for NVIDIA GPUs; run make ptx"},
		{all[general], "NVIDIA GPUs, which run " + all[general].Name + "nvidia: leave out -bundle"},
		{&changed, "is not from this kernels.metal; run make ptx"},
	} {
		if _, err := PTX(tt.b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("PTX says %v, want %q", err, tt.says)
		}
	}
}
