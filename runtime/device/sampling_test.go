package device

import (
	"testing"

	"mla/runtime/plan"
)

// TestRepeats checks that a device continues by itself only if a picked token does not influence the next
// pick.
func TestRepeats(t *testing.T) {
	for _, tt := range []struct {
		state Sampling
		want  bool
	}{
		{Sampling{Sampling: plan.Sampling{Seed: 1, TopK: 40}, Biases: []Bias{{Token: 3, Add: 1}}}, true},
		{Sampling{Window: 1}, false},
		{Sampling{Window: WindowAll, Recent: []int32{1}}, false},
		{Sampling{Mask: []uint32{1}}, false},
	} {
		if tt.state.Repeats() != tt.want {
			t.Errorf("%+v: it repeats: %t", tt.state, !tt.want)
		}
	}
}
