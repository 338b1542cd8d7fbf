package exam

import (
	"context"
	"os"
	"runtime"
	"testing"
)

// TestTinychat: the shipped model has the stated share of held-out prompts right, and its
// multi-token prediction layer guesses well.
func TestTinychat(t *testing.T) {
	const path = "../../../testdata/tinychat.gguf"
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 8_000_000 {
		t.Errorf("%d bytes; at most 8,000,000 are allowed", info.Size())
	}
	m, err := Open(path, min(2, runtime.NumCPU()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	table, err := Take(context.Background(), m, all(t), func(c *Case, a Answer) {
		t.Logf("%s: %q; expected %q", c.Kind, a.Text+a.End, c.Wanted)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table)
	for _, kinds := range [][]string{{"sum"}, {"weather call", "product call"}, {"weather answer", "product answer"}, {"count"}, {"name", "small talk"}} {
		if r := table.Sum(kinds...); r.Percent() < 95 {
			t.Errorf("%v: %d of %d right; at least 95 %% are promised", kinds, r.Right, r.Cases)
		}
	}
	if r := table.Sum(); r.Acceptance() < 80 {
		t.Errorf("%d of %d guesses right; at least 80 %% are promised", r.Accepted, r.Drafted)
	}
}
