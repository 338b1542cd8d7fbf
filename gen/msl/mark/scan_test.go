package mark

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// grammar says what tokens are; a comment, a directive, a word and a symbol are its groups.
var grammar = regexp.MustCompile(`(?s)(//[^\n]*|/\*.*?\*/)|(#(?:\\\n|[^\n])*)` +
	`|([A-Za-z_]\w*)|("(?:\\.|[^"\\])*"|\.?\d(?:[eEpP][+-]|[\w.])*|[^\s\w])`)

// checkScan compares the tokens of a source with the grammar's.
func checkScan(t *testing.T, source string) {
	t.Helper()
	tokens := scan(source)
	for n, m := range grammar.FindAllStringSubmatchIndex(source, -1) {
		if n == len(tokens) {
			t.Fatalf("the token %q is missing", source[m[0]:m[1]])
		}
		got := tokens[n]
		want := token{text: source[m[0]:m[1]], begin: m[0], line: 1 + strings.Count(source[:m[0]], "\n"),
			first: m[0] == 0 || source[m[0]-1] == '\n', namespace: got.namespace}
		for m[2*(int(want.kind)+1)] < 0 {
			want.kind++
		}
		if got != want {
			t.Fatalf("token %d is %+v; expected %+v", n, got, want)
		}
		tokens[n].text = ""
	}
	for _, got := range tokens {
		if got.text != "" {
			t.Fatalf("%+v is no token", got)
		}
	}
}

func TestScan(t *testing.T) {
	for _, source := range []string{"", "a", "#", "#a\\", "#a\\\nb\\\n\nc", "#a\\\n", "/", "//", "/*", "/**/", "/* a\n*/b", "\"", "\"a", "\"a\\", "\"a\\\"b\" c",
		"\"a\nb\"c", "1.5e-3f+2", "0x1p-4-1", ".5", "..5", "a.b", "1e+-2", "1ee+", "5e", "é\xff€_é", "a\r\n\tb\fc\vd", "a1 1a _ __", "x=\"//\"; // \"y"} {
		checkScan(t, source)
	}
	tokens := scan("namespace mla { } using namespace metal; mla::a; b::c; // namespace d\nd")
	for _, got := range tokens {
		if want := got.text == "mla" || got.text == "metal"; got.namespace != want {
			t.Errorf("%q is a namespace: %t", got.text, got.namespace)
		}
	}
	file, err := filepath.Glob("../../../generated/tinyglm/*.metal")
	if err != nil || len(file) != 1 {
		t.Fatal(file, err)
	}
	source, err := os.ReadFile(file[0])
	if err != nil {
		t.Fatal(err)
	}
	checkScan(t, string(source))
}

// FuzzScan: whatever the text is, the tokens are the grammar's.
func FuzzScan(f *testing.F) {
	f.Add("a /* b */ \"c\\\"\" 1e-3 #d\\\ne // f")
	f.Fuzz(checkScan)
}
