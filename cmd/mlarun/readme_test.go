package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readme are the pages whose commands have to work.
var readme = []string{"README.md", "docs/mlarun.md", "docs/serving.md", "docs/mac.md", "docs/kv-cache.md", "docs/performance.md"}

// TestReadme: every mlarun command of the pages has flags that there are, with values that
// they take. Those of the README that need no more than a model and a file run, with the
// shipped model.
func TestReadme(t *testing.T) {
	parsed, ran := 0, 0
	for _, page := range readme {
		for _, args := range commandsOf(t, page) {
			if r := mlarun("", append(slices.Clone(args), "-h")...); r.code != 0 {
				t.Errorf("%s: mlarun %s: code %d\n%s", page, strings.Join(args, " "), r.code, firstLine(r.err))
			}
			parsed++
			if page != "README.md" || !runs(args) {
				continue
			}
			if r := mlarun("text for it\n", withFiles(t, args)...); r.code != 0 {
				t.Errorf("%s: mlarun %s: code %d\n%s", page, strings.Join(args, " "), r.code, r.err)
			}
			ran++
		}
	}
	if parsed < 20 || ran < 7 {
		t.Errorf("%d commands found, %d run; expected 20 and 7: are the pages written otherwise now?", parsed, ran)
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

var (
	codeBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	mlarunRun = regexp.MustCompile(`(?:^|\| |/)mlarun( [^|>#]*)`)
	word      = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// commandsOf are the arguments of the mlarun commands in a page's blocks of shell code.
func commandsOf(t *testing.T, page string) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		for _, line := range strings.Split(block[1], "\n") {
			m := mlarunRun.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			var args []string
			for _, w := range word.FindAllString(m[1], -1) {
				args = append(args, strings.Trim(w, `'"`))
			}
			list = append(list, args)
		}
	}
	return list
}

// runs says whether a command ends by itself, without a network, a larger context than the
// shipped model has, or a format of chats, which it has not.
func runs(args []string) bool {
	return !slices.Contains([]string{"serve", "bench", "doctor"}, args[0]) && !slices.Contains(args, "-hf") && !slices.Contains(args, "-sys")
}

// withFiles puts the shipped model and files with a little text in the place of those that
// a page names.
func withFiles(t *testing.T, args []string) []string {
	t.Helper()
	list := slices.Clone(args)
	for i, arg := range list {
		text, ok := map[string]string{
			"prompts.txt": "func \nvar \n",
			"text.txt":    strings.Repeat("package main\n\nfunc main() {}\n", 400),
			"form.json":   `{"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}, "required": ["name"], "additionalProperties": false}`,
		}[arg]
		switch {
		case ok:
			list[i] = filepath.Join(t.TempDir(), arg)
			if err := os.WriteFile(list[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case strings.HasSuffix(arg, ".gguf"):
			list[i] = "../../testdata/tinyglm.gguf"
		}
	}
	if !strings.HasPrefix(args[0], "-") {
		return list
	}
	return append(list, "-n", "8", "-device", "cpu")
}
