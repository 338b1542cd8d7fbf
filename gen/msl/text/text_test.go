package text

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// grammar is a second definition of tokens: the first alternative that matches. Its groups are the kinds.
var grammar = regexp.MustCompile(`(?s)(\s+)|(//[^\n]*|/\*.*?\*/)|(#(?:\\\n|[^\n])*)|([A-Za-z_]\w*)` +
	`|(0[xX](?:[pP][+-]\d|[\w.])*|\.?\d(?:[eE][+-]\d|[\w.])*)|("(?:\\.|[^"\\])*")|(.)`)

// matched is Scan by the grammar, which takes twenty times as long.
func matched(source string) (tokens []Token) {
	line := 1
	for _, m := range grammar.FindAllStringSubmatchIndex(source, -1) {
		t := Token{Text: source[m[0]:m[1]], Begin: m[0], Line: line, First: m[0] == 0 || source[m[0]-1] == '\n'}
		for m[2*(int(t.Kind)+1)] < 0 {
			t.Kind++
		}
		tokens = append(tokens, t)
		line += strings.Count(t.Text, "\n")
	}
	return tokens
}

// pitfalls are texts that a scanner can take for others.
var pitfalls = []string{
	"", " \t\r\n\f\v", "// a\n//", "/* a\n */b/* c", "/", "/*/ */", "/**/", "#a \\\n b\nc", "#\\", "# \\é\n", `"a\"b" "\`, `"a`, `"\`, "\"\\\n\"",
	"a /* b", "\"x\\\"y\" 'c' a[b[1]] [[z]] 1.5e-3f 0x1p-3f .5h é\n#define x \\\n y\nz", "\x00\xff", "\"a\nb\"c", "..5", "a.b", "x=\"//\"; // \"y",
	"a_1 _ 1_a 0x1p-3f 0x1p-f 0X1P+1 0x1e+1 1e+5f 1e+f 1e+-2 1ee+ 5e .5h . .a 1.5.e-2 0x", "[[[ ]]] ::: :", "é\xff\xc3", "\"\xff\"", "1é", "#é\xff\\\xff\n", "é€\\",
	"#a\\\nb\\\n\nc", "#a\\\n", "#a\\\\\nb",
}

func TestScan(t *testing.T) {
	files, err := filepath.Glob("../../../generated/*/*.metal")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d sources (%v)", len(files), err)
	}
	texts := slices.Clone(pitfalls)
	for _, file := range append(files[:2], "../../../generated/library.metal") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		got, want := Scan(text), matched(text)
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("token %d of %.60q is %+v; expected %+v", i, text, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%.60q has %d tokens; expected %d", text, len(got), len(want))
		}
	}
}

// FuzzScan: whatever the text is, the tokens are the grammar's.
func FuzzScan(f *testing.F) {
	for _, text := range pitfalls {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := Scan(text), matched(text); !slices.Equal(got, want) {
			t.Fatalf("%q is %+v; expected %+v", text, got, want)
		}
	})
}

func TestCode(t *testing.T) {
	var got []string
	for _, c := range Code("#if a\n/* b */ x += 1.5f; // c\n") {
		got = append(got, c.Text)
	}
	if want := "x + = 1.5f ;"; strings.Join(got, " ") != want {
		t.Errorf("%q; expected the tokens of %q", got, want)
	}
}

// TestJoin: only neighbours become one, as often as they fit.
func TestJoin(t *testing.T) {
	double := func(left, right *Token) bool { return left.Text == right.Text && left.Kind == Symbol }
	var got []string
	for _, j := range Join(Scan("a[[b]] ] [ [:::"), double) {
		got = append(got, j.Text)
	}
	if want := []string{"a", "[[", "b", "]]", " ", "]", " ", "[", " ", "[", "::", ":"}; !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
}
