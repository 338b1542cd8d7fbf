package gen_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestArchive: a release archive has every file of the repository that its README links to or
// runs, so that it can be read and tried without a clone.
func TestArchive(t *testing.T) {
	var patterns []string
	for _, m := range regexp.MustCompile(`\bsrc: (?:"([^"]+)"|([^\s,]+))`).FindAllStringSubmatch(string(read(t, ".goreleaser.yaml")), -1) {
		patterns = append(patterns, alternatives(m[1]+m[2])...)
	}
	readme := string(read(t, "README.md"))
	var named []string
	for _, m := range regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)|\b(testdata/[a-z]+\.gguf) -temp`).FindAllStringSubmatch(readme, -1) {
		named = append(named, m[1]+m[2])
	}
	if len(named) < 15 || len(patterns) < 8 {
		t.Fatalf("README.md names %d files, .goreleaser.yaml has %d patterns", len(named), len(patterns))
	}
	for _, name := range named {
		found := false
		for _, p := range patterns {
			ok, err := path.Match(p, name)
			if err != nil {
				t.Fatalf(".goreleaser.yaml: %s: %v", p, err)
			}
			found = found || ok
		}
		if !found {
			t.Errorf("README.md names %s, which .goreleaser.yaml does not put into archives", name)
		}
	}
}

// alternatives are the patterns that one with {a,b} stands for.
func alternatives(pattern string) (list []string) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	inner, after, _ := strings.Cut(rest, "}")
	for one := range strings.SplitSeq(inner, ",") {
		list = append(list, alternatives(before+one+after)...)
	}
	return list
}
