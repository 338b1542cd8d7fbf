//go:build deep

package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestDoctorSchedule: a schedule has requests that come, go and share, and its two runs are
// the same.
func TestDoctorSchedule(t *testing.T) {
	got := mlarun("", "doctor", "-device", "cpu", "-schedule", "800", "-model", "../../testdata/tinychat.gguf")
	for _, w := range []string{"800 steps twice: the same tokens and bits of logits +ok", "[1-9][0-9]* requests, [1-9][0-9]* of them cancelled; [1-9][0-9]* tokens, [1-9][0-9]* of them drafted; [1-9][0-9]* prompt tokens reused; [1-9][0-9]* rows of logits"} {
		if !regexp.MustCompile(w).MatchString(got.out) {
			t.Errorf("no %q", w)
		}
	}
	if got.code != 0 || strings.Contains(got.out, "kernels of") || t.Failed() {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}
