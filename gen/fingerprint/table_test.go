package main

import (
	"slices"
	"strings"
	"testing"
)

const small = "a plan 1\na profile=q4_0 2\na profile=q8_0 3\na cache=f16 4\na cuda 5\na ptx 6/clang-19.1.7\nb plan 7\n"

func parsed(t *testing.T, text string) table {
	t.Helper()
	list, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestParse checks that a written table is read back, and that malformed lines are refused.
func TestParse(t *testing.T) {
	want := parsed(t, small)
	if got := parsed(t, want.String()); !slices.Equal(got, want) || len(want) != 7 || want.String() != head+small {
		t.Errorf("%s is read as %v", want.String(), got)
	}
	for text, says := range map[string]string{
		"a plan":                  "line 1 has 2 words; expected 3",
		"\na plan 1 2":            "line 2 has 4 words",
		"a plans 1":               `line 1: a fingerprint of "plans"; expected one of plan, `,
		"a plan 1\na plan 1":      "line 2: a has a second plan",
		"# a\nb cache=f16 1\nb x": "line 3 has 2 words",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; expected %q", text, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add(head + "a plan")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse(text)
		if err != nil {
			return
		}
		if got, err := parse(list.String()); err != nil || !slices.Equal(got, list) {
			t.Fatalf("%v is read back as %v (%v)", list, got, err)
		}
	})
}

// TestChanges checks that every difference is reported, by bundle and kind.
func TestChanges(t *testing.T) {
	const many = "a profile=1 1\na profile=2 1\na profile=3 1\na profile=4 1\na profile=5 1\na profile=6 1\na profile=7 1\na profile=8 1\n"
	for _, tt := range []struct{ name, was, is, want string }{
		{"nothing", small, small, ""},
		{"a plan", small, strings.Replace(small, "plan 1", "plan x", 1), "a: plan was 1, is x"},
		{"one profile", small, strings.Replace(small, "q8_0 3", "q8_0 x", 1), "a: 1 of 2 profiles (q8_0)"},
		{"a cache and the translation", small, strings.NewReplacer("f16 4", "f16 x", "cuda 5", "cuda x").Replace(small), "a: 1 of 1 caches (f16); cuda was 5, is x"},
		{"another clang", small, strings.Replace(small, "19.1.7", "20.1.0", 1), "a: ptx was 6/clang-19.1.7, is 6/clang-20.1.0"},
		{"a profile more", "b profile=q8_0 1\n", "b profile=q8_0 1\nb profile=q4_0 1\n", "b: 1 of 2 profiles (q4_0)"},
		{"a profile less", "b profile=q8_0 1\nb profile=q4_0 1\n", "b profile=q8_0 1\n", "b: 1 of 2 profiles (q4_0)"},
		{"PTX less", small, strings.Replace(small, "a ptx 6/clang-19.1.7\n", "", 1), "a: ptx was 6/clang-19.1.7, is missing"},
		{"PTX more", strings.Replace(small, "a ptx 6/clang-19.1.7\n", "", 1), small, "a: ptx was missing, is 6/clang-19.1.7"},
		{"a bundle more", "b plan 7\n", small, "a: a new bundle"},
		{"a bundle less", small, strings.Replace(small, "b plan 7\n", "", 1), "b: no such bundle any more"},
		{"all profiles", many, strings.ReplaceAll(many, " 1\n", " 2\n"), "a: 8 of 8 profiles (1, 2, 3, 4, 5, 6 and 2 more)"},
		{"two bundles", small, strings.NewReplacer("plan 1", "plan x", "plan 7", "plan y").Replace(small), "a: plan was 1, is x\nb: plan was 7, is y"},
	} {
		if got := strings.Join(changes(parsed(t, tt.was), parsed(t, tt.is)), "\n"); got != tt.want {
			t.Errorf("%s: %q; expected %q", tt.name, got, tt.want)
		}
	}
}

// TestOver: PTX that was not compiled now stays known as long as its source stays the same.
func TestOver(t *testing.T) {
	old, all := parsed(t, small), []string{"a", "b", "c"}
	for _, tt := range []struct{ name, now, want string }{
		{"nothing is compiled", "", small},
		{"the same source", "a plan 8\na cuda 5\n", "a plan 8\na cuda 5\na ptx 6/clang-19.1.7\nb plan 7\n"},
		{"another source", "a plan 1\na cuda 8\n", "a plan 1\na cuda 8\nb plan 7\n"},
		{"new PTX", "a cuda 5\na ptx 9/clang-19.1.7\n", "a cuda 5\na ptx 9/clang-19.1.7\nb plan 7\n"},
		{"a new bundle", "c plan 9\n", small + "c plan 9\n"},
	} {
		if got := parsed(t, tt.now).over(old, all); got.String() != head+tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	if got := old.over(nil, all[1:2]); got.String() != head+"b plan 7\n" {
		t.Errorf("a bundle that is gone stays: %s", got)
	}
}
