package main

import (
	"strings"
	"testing"
)

// TestDeterministic: -deterministic runs one row at a time, as -width 1 does, and no other number.
func TestDeterministic(t *testing.T) {
	run := func(more ...string) result {
		return mlarun("", append([]string{"greedy", "-quiet", "-device", "cpu", "-model", glm, "-tokens", "1,2,3,4,5", "-tokens", "7,8,9", "-n", "6"}, more...)...)
	}
	want, got := run("-width", "1"), run("-deterministic")
	if want.code != 0 || got.code != 0 || got.out != want.out {
		t.Errorf("code %d, %q, %s; want %q", got.code, got.out, got.err, want.out)
	}
	if r := run("-deterministic", "-width", "4"); r.code != 2 || !strings.Contains(r.err, "-deterministic") {
		t.Errorf("with -width 4: code %d, %s", r.code, r.err)
	}
}
