package main

import (
	"slices"
	"strings"
	"testing"
)

// TestManual: every command and flag is in the manual page and is completed.
func TestManual(t *testing.T) {
	page := mlarun("", "man")
	for _, c := range commands {
		if !strings.Contains(page.out, ".SH \"OPTIONS OF MLARUN "+strings.ToUpper(c.name)+"\"\n") {
			t.Errorf("the manual lacks the flags of %s", c.name)
		}
	}
	if page.code != 0 || !strings.Contains(page.out, "\\-api\\-key") {
		t.Errorf("exit %d: %s", page.code, page.err)
	}
	for _, shell := range []string{"bash", "fish", "zsh"} {
		if got := mlarun("", "completion", shell); got.code != 0 || !strings.Contains(got.out, "perplexity") || !strings.Contains(got.out, "api-key") {
			t.Errorf("%s: exit %d: %s", shell, got.code, got.err)
		}
	}
	if got := mlarun("", "completion", "cmd"); got.code != exitUsage || !strings.Contains(got.err, "bash, fish, zsh") {
		t.Errorf("%+v", got)
	}
}

// TestOfferedValues: what shells offer as the value of a flag is one that the flag takes, on some machine:
// not every CPU has all inner loops.
func TestOfferedValues(t *testing.T) {
	offered := 0
	for _, o := range options {
		args := []string{"-m", shipped, "-p", "func ", "-n", "1", "-quiet"}
		if o.in != "" {
			args = []string{strings.TrimPrefix(o.in, "mlarun "), "-m", shipped, "-p", "0", "-n", "1", "-r", "1", "-quiet"}
		}
		for _, v := range strings.Fields(o.values) {
			offered++
			if r := mlarun("", append(slices.Clone(args), "-"+o.name, v)...); r.code == exitUsage && !strings.Contains(r.err, "this machine has") {
				t.Errorf("-%s %s: %s", o.name, v, r.err)
			}
		}
	}
	if offered < 15 {
		t.Errorf("%d values", offered)
	}
}
