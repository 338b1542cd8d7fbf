package gen_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// privateWords are words that stood in this project for terms of the field. A newcomer knows the
// term and looks for it; so the words do not come back, in code, comments, messages or documents.
var privateWords = []struct {
	word    string // a regular expression
	instead string
	english string   // phrases with the word that are right anywhere, as a regular expression; "": none
	files   []string // that may have the word
}{
	{word: `behind`, instead: "after, or what follows",
		english: `(left|leaves?|leaving|no|nothing)\b[^.]*\bbehind|// behind, and an old` + // what is left behind
			`|behind (caddy|handles|buffers|mlagen|(one|a) (address|port|proxy|router)|the (buffers|names))` +
			`|behind which a token is picked`}, // a kernel's description, which is part of every plan's fingerprint
	{word: `so many`, instead: "a given number of, or that many", english: `so many [a-z]+ that`},
	{word: `twins?`, instead: "reference, or CPU kernel",
		files: []string{"runtime/device/linalg/internal/asm/neon/table.go", "runtime/gguf/malformed_test.go"}},
	{word: `forsaken?`, instead: "abandoned"},
	{word: `hopeless`, instead: "permanent, or of no use"},
	{word: `misguided`, instead: "what the error is"},
	{word: `loners?`, instead: "single"},
	{word: `sends? for`, instead: "loads, or prefetches"},
	{word: `sent for`, instead: "loaded, or prefetched"},
	{word: `rows? together`, instead: "rows in one batch"},
	{word: `of which those`, instead: "two sentences"},
	{word: `ha(s|ve) alike`, instead: "share, or have in common"},
	{word: `who comes`, instead: "a new request"},
	{word: `who goes`, instead: "a client that leaves, or a session that continues"},
	{word: `(go(es)?|going|went|gone) on by (itself|themselves)`, instead: "continues by itself"},
	{word: `together_?block`, instead: "rowBlockMany"},
	{word: `near_?panel`, instead: "panelBlockRows"},
	{word: `pages_?together`, instead: "pagesPerGroup"},
}

// privateExempt are files that do not speak for the project: diaries, data, and this table.
var privateExempt = regexp.MustCompile(`^(generated|docs/lab|testdata)/|/testdata/|^gen/private_words_test\.go$|^LICENSE|go\.sum$|\.(s|gguf|npy|png|svg|bin|gz|mla)$`)

// kernelSource matches files whose comments alone are read, because specs/fingerprints.txt holds the names in the
// source of kernels.
var kernelSource = regexp.MustCompile(`\.(metal|msl|h|cpp)$|^gen/ptx/include/`)

// comment returns the comment on a line of a kernel's source. Lines with quotes count as code, because they
// are part of the fingerprint of CUDA text even inside comments: see code in gen/ptx.
func comment(line string) string {
	if strings.ContainsAny(line, `'"`) {
		return ""
	}
	if at := strings.Index(line, "//"); at >= 0 {
		return line[at:]
	}
	if strings.Contains(line, "/*") {
		return line
	}
	return ""
}

// TestPrivateWords: see privateWords.
func TestPrivateWords(t *testing.T) {
	files := 0
	for _, name := range tracked(t, ".") {
		if privateExempt.MatchString(name) {
			continue
		}
		text := strings.ToLower(string(read(t, name)))
		if strings.ContainsRune(text, 0) {
			continue // no text
		}
		files++
		for _, p := range privateWords {
			stem, _ := regexp.MustCompile(p.word).LiteralPrefix()
			if !strings.Contains(text, stem) || slices.Contains(p.files, name) {
				continue
			}
			word := regexp.MustCompile(`\b(` + p.word + `)\b`)
			english := regexp.MustCompile(cmp.Or(p.english, `^$`))
			for i, line := range strings.Split(text, "\n") {
				if !strings.Contains(line, stem) {
					continue
				}
				if kernelSource.MatchString(name) {
					line = comment(line)
				}
				if found := word.FindString(english.ReplaceAllString(line, "")); found != "" {
					t.Errorf("%s:%d: %q; expected %s: %s", name, i+1, found, p.instead, strings.TrimSpace(line))
				}
			}
		}
	}
	if files < 1500 {
		t.Errorf("%d files were read; expected 1,500 and more", files)
	}
}
