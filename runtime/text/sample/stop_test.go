package sample

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestStopper(t *testing.T) {
	for _, c := range []struct {
		name    string
		stops   []string
		pieces  []string
		want    []string // what each Push emits
		flush   string
		matched string
	}{
		{"none", nil, []string{"a", "b"}, []string{"a", "b"}, "", ""},
		{"empty strings are ignored", []string{""}, []string{"a"}, []string{"a"}, "", ""},
		{"in one piece", []string{"END"}, []string{"xENDy", "z"}, []string{"x", ""}, "", "END"},
		{"over pieces", []string{"END"}, []string{"xE", "N", "Dy"}, []string{"x", "", ""}, "", "END"},
		{"false start", []string{"END"}, []string{"xE", "x", "EN"}, []string{"x", "Ex", ""}, "EN", ""},
		{"start inside a start", []string{"aab"}, []string{"a", "a", "a", "b"}, []string{"", "", "a", ""}, "", "aab"},
		{"first complete counts", []string{"abcd", "bc"}, []string{"abcd"}, []string{"a"}, "", "bc"},
		{"longest of those", []string{"bc", "abc"}, []string{"xabc"}, []string{"x"}, "", "abc"},
		{"characters stay whole", []string{"中文"}, []string{"é中", "国"}, []string{"é", "中国"}, "", ""},
	} {
		s := NewStopper(c.stops)
		for i, piece := range c.pieces {
			if got, _ := s.Push(piece); got != c.want[i] {
				t.Errorf("%s: Push(%q) = %q, expected %q", c.name, piece, got, c.want[i])
			}
		}
		if got := s.Flush(); got != c.flush || s.Matched() != c.matched {
			t.Errorf("%s: Flush %q, matched %q, expected %q and %q", c.name, got, s.Matched(), c.flush, c.matched)
		}
		if _, stopped := s.Push("x"); stopped != (c.matched != "") {
			t.Errorf("%s: stopped = %v", c.name, stopped)
		}
	}
}

// TestStopperDoesNotDependOnPieces cuts random texts at random places and
// compares with looking at every prefix of the whole text.
func TestStopperDoesNotDependOnPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	letters := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteByte("ab"[r.IntN(2)])
		}
		return s.String()
	}
	for range 5000 {
		stops := []string{letters(1 + r.IntN(5)), letters(1 + r.IntN(5))}
		text := letters(r.IntN(12))
		want := text
	prefixes:
		for end := range len(text) + 1 {
			emitted := ""
			for _, stop := range stops {
				if strings.HasSuffix(text[:end], stop) {
					if rest := text[:end-len(stop)]; emitted == "" || len(rest) < len(want) {
						want, emitted = rest, "yes"
					}
				}
			}
			if emitted != "" {
				break prefixes
			}
		}
		s, got := NewStopper(stops), ""
		for rest := text; rest != ""; {
			n := 1 + r.IntN(len(rest))
			part, stopped := s.Push(rest[:n])
			got += part
			rest = rest[n:]
			if stopped {
				break
			}
		}
		if got += s.Flush(); got != want {
			t.Fatalf("stops %q, text %q: %q, expected %q", stops, text, got, want)
		}
	}
}
