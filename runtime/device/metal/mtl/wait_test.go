package mtl

import "testing"

// TestTooLong checks which errors of command buffers are about time.
func TestTooLong(t *testing.T) {
	for _, tt := range []struct {
		e    CommandError
		want bool
	}{
		{CommandError{2, "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)"}, true},
		{CommandError{4, "Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)"}, true},
		{CommandError{14, "Impacting Interactivity"}, true},
		{CommandError{1, "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)"}, true},
		{CommandError{1, "Internal Error (0000000f:kIOGPUCommandBufferCallbackErrorInvalidResource)"}, false},
		{CommandError{3, "Caused GPU Address Fault Error"}, false},
		{CommandError{8, "Insufficient Memory"}, false},
		{CommandError{}, false},
	} {
		if got := tt.e.TooLong(); got != tt.want {
			t.Errorf("%v: %v", &tt.e, got)
		}
	}
}
