package sample

import (
	"slices"
	"strings"
	"testing"
)

func TestParseOrder(t *testing.T) {
	for _, c := range []struct {
		names, want string // letters
	}{
		{"penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", "edskypmxt"},
		{"top-k;nucleus;min-p;temp;typical;top-n-sigma;typical_p", "kpmtysy"},
		{"infill;top_k;adaptive_p", "k"},
		{"top_k;top_k", "kk"},
	} {
		got, err := ParseOrder(strings.Split(c.names, ";"))
		if err != nil || Letters(got) != c.want {
			t.Errorf("%s: %v, %v", c.names, got, err)
		}
		again, err := ParseLetters(Letters(got))
		if err != nil || !slices.Equal(got, again) {
			t.Errorf("%s: by letters %v, %v", c.names, again, err)
		}
	}
	if none, err := ParseOrder(nil); err != nil || none == nil || len(none) > 0 {
		t.Errorf("no names: %v, %v; expected an order without steps", none, err)
	}
	for _, names := range [][]string{{"top_q"}, {""}, {"top_k", " top_p"}, slices.Repeat([]string{"xtc"}, 65)} {
		if got, err := ParseOrder(names); err == nil {
			t.Errorf("%q: %v", names, got)
		}
	}
	for _, letters := range []string{"z", "k p", strings.Repeat("x", 65), "\xff"} {
		if got, err := ParseLetters(letters); err == nil {
			t.Errorf("%q: %v", letters, got)
		}
	}
}

// FuzzOrder: any text is an order or an error, an order is what its letters and its names say.
func FuzzOrder(f *testing.F) {
	for _, text := range []string{"edskypmxt", "top_k;top_p", "", ";", "kk", "ia", "temp;nucleus", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		letters, err := ParseLetters(text)
		names, otherErr := ParseOrder(strings.Split(text, ";"))
		for _, order := range [][]Step{letters, names} {
			again, err := ParseOrder(StepNames(order))
			byLetters, otherErr := ParseLetters(Letters(order))
			if err != nil || otherErr != nil || !slices.Equal(again, order) || !slices.Equal(byLetters, order) || len(order) > maxSteps {
				t.Fatalf("%q: %v; again %v, %v, %v, %v", text, order, again, err, byLetters, otherErr)
			}
		}
		if err == nil && len(letters) > len(text) || otherErr == nil && len(names) > len(text) {
			t.Fatalf("%q: %v, %v", text, letters, names)
		}
	})
}
