package ptx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lexeme is what a token is: the first alternative that fits.
var lexeme = regexp.MustCompile(`(?s)(?P<blank>\s+|//[^\n]*|/\*.*?\*/|#(?:[^\n\\]|\\.)*)` +
	`|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|0[xX](?:[pP][+-]\d|[\w.])*|\.?\d(?:[eE][+-]\d|[\w.])*|\[\[|\]\]|::|.`)

// matched is scan by lexeme, which takes twenty times as long.
func matched(source string) (tokens []token) {
	line := 1
	for _, at := range lexeme.FindAllStringSubmatchIndex(source, -1) {
		text := source[at[0]:at[1]]
		tokens = append(tokens, token{text: text, blank: at[2] >= 0, line: line})
		line += strings.Count(text, "\n")
	}
	return tokens
}

// pitfalls are texts that a scanner can take for others.
var pitfalls = []string{
	"", " \t\r\n\f\v", "// a\n//", "/* a\n */b/* c", "/", "/*/ */", "#a \\\n b\nc", "#\\", "# \\é\n", `"a\"b" "\`, `"a`, `"\`, "\"\\\n\"",
	"a /* b", "\"x\\\"y\" 'c' a[b[1]] [[z]] 1.5e-3f 0x1p-3f .5h é\n#define x \\\n y\nz", "\x00\xff",
	"a_1 _ 1_a 0x1p-3f 0x1p-f 0X1P+1 0x1e+1 1e+5f 1e+f .5h . .a 1.5.e-2 0x", "[[[ ]]] ::: :", "é\xff\xc3", "\"\xff\"", "1é", "#é\xff\\\xff\n", "é€\\",
}

func TestScan(t *testing.T) {
	files, err := filepath.Glob("../../generated/*/*.metal")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d sources (%v)", len(files), err)
	}
	texts := slices.Clone(pitfalls)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		got, want := scan(text), matched(text)
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

func FuzzScan(f *testing.F) {
	for _, text := range pitfalls {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := scan(text), matched(text); !slices.Equal(got, want) {
			t.Fatalf("%q is %+v; expected %+v", text, got, want)
		}
	})
}
