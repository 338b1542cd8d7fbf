package yamledit_test

import (
	"testing"

	"mla/gen/yamledit"
)

// TestEditor checks that values are set in place, in the existing layout, and that nothing else changes. The
// layouts of specs are tested in gen/spec/retune_test.go.
func TestEditor(t *testing.T) {
	e := yamledit.Editor{Text: "a: 1 # one\nb:\n  c: {d: 2}\n"}
	for _, step := range []struct {
		path  []string
		value string
		want  string
	}{
		{[]string{"a"}, "3", "a: 3 # one\nb:\n  c: {d: 2}\n"},
		{[]string{"b", "c", "d"}, "4", "a: 3 # one\nb:\n  c: {d: 4}\n"},
		{[]string{"b", "c", "e"}, "5", "a: 3 # one\nb:\n  c: {e: 5, d: 4}\n"},
		{[]string{"b", "f"}, "6", "a: 3 # one\nb:\n  c: {e: 5, d: 4}\n  f: 6\n"},
		{[]string{"g", "h"}, "7", "a: 3 # one\nb:\n  c: {e: 5, d: 4}\n  f: 6\n\ng:\n  h: 7\n"},
	} {
		if err := e.Set(step.path, step.value); err != nil || e.Text != step.want {
			t.Fatalf("%v: %q, %v; want %q", step.path, e.Text, err, step.want)
		}
	}
	if n, err := e.Find([]string{"b", "c", "e"}); err != nil || n == nil || n.Value != "5" {
		t.Error(n, err)
	}
	for _, odd := range []string{"a: &x 1\n", "? a\n: 1\n", "{a: 1,\n b: 2}\n"} {
		e := yamledit.Editor{Text: odd}
		if err := e.Set([]string{"z", "y"}, "1"); err == nil && e.Text == odd {
			t.Errorf("%q: nothing was done, and no error", odd)
		}
	}
}
