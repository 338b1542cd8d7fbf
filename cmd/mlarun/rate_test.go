package main

import (
	"bytes"
	"regexp"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	start := time.Unix(1000, 0)
	var r rate
	for _, tt := range []struct {
		after time.Duration
		done  int64
		want  string
	}{
		{0, 100, ""}, // found, not run
		{time.Second, 100, ""},
		{2 * time.Second, 300, ", 100/s, 7s left"},
		{4 * time.Second, 500, ", 100/s, 5s left"},  // a mark
		{8 * time.Second, 520, ", 5/s, 1m36s left"}, // since the mark at 4 s: what was fast before does not count
		{12 * time.Second, 560, ", 10/s, 44s left"}, // since the mark at 8 s
		{13 * time.Second, 999, ", 95.8/s, 0s left"},
		{14 * time.Second, 1000, ", 80/s, 0s left"},
	} {
		now := start.Add(tt.after)
		r.add(now, tt.done)
		if got := r.left(now, tt.done, 1000, fourDigits); got != tt.want {
			t.Errorf("after %v: %q; want %q", tt.after, got, tt.want)
		}
	}
}

// TestProgress: on a terminal the line has the rate, elsewhere there is none.
func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := &progress{w: &w, what: "prompt"}
	p.count(0, 20)
	p.last, p.rate.from.at = time.Time{}, time.Now().Add(-time.Second)
	p.count(10, 20)
	if want := `^\r\x1b\[Kprompt 0/20\r\x1b\[Kprompt 10/20, (10|9\.\d+)/s, 1s left$`; !regexp.MustCompile(want).Match(w.Bytes()) {
		t.Errorf("%q", w.String())
	}
	(&progress{}).count(1, 2) // writes nowhere
}
