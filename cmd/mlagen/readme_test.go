package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inCode = regexp.MustCompile("(?m)`mlagen ([^`\n]+)`|^mlagen ([^#\n]+)")
	word   = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// TestReadme: every mlagen command of the pages is one, with flags that there are. Those of
// the README that write a file run, with a model that no bundle is built for.
func TestReadme(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range newRoot().Commands() {
		known[c.Name()] = true
	}
	parsed, ran := 0, 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inCode.FindAllStringSubmatch(string(text), -1) {
			var args []string
			for _, w := range word.FindAllString(m[1]+m[2], -1) {
				args = append(args, strings.Trim(w, `'"`))
			}
			if !strings.HasPrefix(args[0], "-") && !known[args[0]] && args[0] != "completion" && args[0] != "help" && args[0] != "COMMAND" {
				t.Errorf("%s: mlagen %s: there is no such command", page, strings.Join(args, " "))
			}
			ask := slices.Clone(args)
			if strings.HasPrefix(ask[len(ask)-1], "-") { // a flag that a text names without its value
				ask = append(ask, "F")
			}
			if code, _, stderr := mlagen(append(ask, "-h")...); code != exitOK {
				t.Errorf("%s: mlagen %s: exit %d: %s", page, strings.Join(args, " "), code, stderr)
			}
			parsed++
			if m[2] == "" || filepath.Base(page) != "README.md" {
				continue
			}
			data, err := os.ReadFile(unseen + "plm-mini-Q4_K_M.gguf")
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			for i, arg := range args {
				if strings.HasSuffix(arg, ".gguf") {
					args[i] = filepath.Join(folder, arg)
					writeFile(t, args[i], string(data))
				}
			}
			if code, _, stderr := mlagen(args...); code != exitOK {
				t.Errorf("%s: mlagen %s: exit %d: %s", page, strings.Join(args, " "), code, stderr)
			}
			if made, err := filepath.Glob(filepath.Join(folder, "*.mla")); err != nil || len(made) != 1 {
				t.Errorf("mlagen %s: %v, %v; expected a bundle file", strings.Join(args, " "), made, err)
			}
			ran++
		}
	}
	if parsed < 20 || ran == 0 {
		t.Errorf("%d commands found, %d run: are the pages written otherwise now?", parsed, ran)
	}
}
