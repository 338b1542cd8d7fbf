package pieces

import (
	"strings"
	"testing"
)

const (
	libraryText = "// a comment\n//# first\n\n#include <x>\n//: a using b c\nint a;\n//# folder/second\n//: b if c using a\nint b;\n//# third\n//: c\nint c;\n"
	whole       = "// head\n\n#include <x>\n//: a using c\nint a;\n//: c\nint c;\n//: k using a\nint k;\n"
	kernels     = "// head\n//# first third\n//: k using a\nint k;\n"
)

// TestLibrary: a bundle's text has the files that its line names, with marks of what is there, and
// Kernels takes them out again.
func TestLibrary(t *testing.T) {
	l, err := ParseLibrary(libraryText)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Text("// a comment"); got != libraryText {
		t.Errorf("the library is %q", got)
	}
	if got, err := l.Whole(kernels); err != nil || got != whole {
		t.Errorf("%v, %q; want %q", err, got, whole)
	}
	if got := l.Kernels(whole); got != kernels {
		t.Errorf("%q; want %q", got, kernels)
	}
	for _, source := range []string{"", "int k;\n", "// head\n//: k\nint k;\n"} { // without a file of the library
		if got, err := l.Whole(l.Kernels(source)); err != nil || got != source {
			t.Errorf("%q becomes %q (%v)", source, got, err)
		}
	}
}

// TestLibraryRefuses breaks both texts.
func TestLibraryRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"int a;\n//# first\n":            "the library begins with",
		"//# a\nint a;":                  "cut off",
		"//#\nint a;\n":                  "expected the name of one file, once",
		"//# a b\nint a;\n":              "expected the name of one file, once",
		"//# a\nint a;\n//# a\nint b;\n": "expected the name of one file, once",
	} {
		if _, err := ParseLibrary(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	l, err := ParseLibrary(libraryText)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"int k;\n":     "no line of //# in",
		"//# fourth\n": "has no file \"fourth\"; it has first, folder/second, third",
	} {
		if _, err := l.Whole(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// FuzzLibrary checks that no text makes the parser panic, and that Whole restores what Kernels removes.
func FuzzLibrary(f *testing.F) {
	f.Add(libraryText, whole)
	f.Add("//# a\n//:\n", "//# a a\n//: if using\n")
	f.Add(libraryText, "//# first\n"+macros)
	f.Fuzz(func(t *testing.T, library, text string) {
		l, err := ParseLibrary(library)
		if err != nil {
			return
		}
		if _, err := l.Whole(text); err != nil && len(err.Error()) > 1<<12+2*len(library) {
			t.Fatal("an error as long as the text")
		}
		if again, err := l.Whole(l.Kernels(text)); err == nil && again != text && !strings.Contains(text, filePrefix) {
			t.Fatalf("%q became %q", text, again)
		}
	})
}
