package nearest

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	names := []string{"temp", "top-k", "top-p", "threads", "hidden_size", "n"}
	for name, want := range map[string]string{
		"tmep": "temp", "temperature": "", "TEMP": "temp", "thread": "threads", "hiden_size": "hidden_size", "topk": "top-k",
		"xyzzy": "", "": "n", "m": "n", strings.Repeat("n", 65): "", "top": "top-k", "hidden_size ": "hidden_size",
	} {
		if got := Of(name, names); got != want {
			t.Errorf("%q: %q; want %q", name, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := mistakes(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d; want %d", c.a, c.b, got, c.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("tmep", "temp")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > longest || len(b) > longest {
			return
		}
		if x, y := mistakes(a, b), mistakes(b, a); x != y || x > max(len(a), len(b)) || (x == 0) != (a == b) {
			t.Errorf("%q, %q: %d and %d", a, b, x, y)
		}
	})
}
