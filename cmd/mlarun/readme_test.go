package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mla/runtime/load/hub/hubtest"
)

// readmePages are the pages whose commands have to work.
func readmePages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) < 15 {
		t.Fatalf("%d pages, %v; expected 15 and more", len(docs), err)
	}
	pages := []string{"README.md"}
	for _, page := range docs {
		pages = append(pages, "docs/"+filepath.Base(page))
	}
	return pages
}

// TestReadme: every mlarun command of the pages has flags that there are, with values that
// they take. Those of the README that end by themselves run, with models and a hub that
// stand in for theirs.
func TestReadme(t *testing.T) {
	model, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	server := hubtest.Serve(map[string][]byte{"m-Q4_K_M.gguf": model})
	defer server.Close()
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", server.URL)
	parsed, ran := 0, 0
	for _, page := range readmePages(t) {
		for _, args := range commandsOf(t, page) {
			if r := mlarun("", append(slices.Clone(args), "-h")...); r.code != 0 {
				t.Errorf("%s: mlarun %s: code %d\n%s", page, strings.Join(args, " "), r.code, firstLine(r.err))
			}
			parsed++
			if page != "README.md" || !runs(args) || slices.Contains(args, "testdata/tinychat.gguf") { // TestReadmeFirst runs that
				continue
			}
			if r := mlarun("text for it\n", withFiles(t, args)...); r.code != 0 {
				t.Errorf("%s: mlarun %s: code %d\n%s", page, strings.Join(args, " "), r.code, r.err)
			}
			ran++
		}
	}
	if parsed < 20 || ran < 11 {
		t.Errorf("%d commands found, %d run; expected 20 and 11: are the pages written otherwise now?", parsed, ran)
	}
}

// TestReadmeFirst: the first command of the README, as it stands there, answers what the README
// says: whoever has just cloned the project runs it.
func TestReadmeFirst(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```sh\ngo run ./cmd/mlarun ([^\n]+)\n.*?```text\n(.*?)```").FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("README.md does not begin with a command of mlarun and what it prints")
	}
	var args []string
	for _, w := range word.FindAllString(m[1], -1) {
		if w = strings.Trim(w, `'"`); strings.HasPrefix(w, "testdata/") {
			w = "../../" + w
		}
		args = append(args, w)
	}
	if r := mlarun("", append(args, "-device", "cpu")...); r.code != 0 || r.out != m[2] {
		t.Errorf("code %d, output %q, %s; README.md has %q", r.code, r.out, r.err, m[2])
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

// runs says whether a command ends by itself, and in the program's own words: a doctor's
// is a Mac's.
func runs(args []string) bool { return !slices.Contains([]string{"serve", "doctor"}, args[0]) }

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
		case arg == "0,4096":
			list[i] = "0,256" // the shipped model has no more room, nor the test more time
		case strings.HasSuffix(arg, ".gguf"):
			list[i] = shipped
		case i > 0 && args[i-1] == "-hf":
			list[i] = "u/r" // of the hub that stands in
		}
	}
	if args[0] == "bench" {
		return append(list, "-r", "1")
	}
	if !strings.HasPrefix(args[0], "-") {
		return list
	}
	if slices.Contains(args, "-sys") || slices.Contains(args, "-chat") || !slices.ContainsFunc(args, func(arg string) bool { return arg == "-p" || arg == "-f" }) {
		template := filepath.Join(t.TempDir(), "t.jinja") // the shipped model has no format of chats
		if err := os.WriteFile(template, []byte("{% for m in messages %}{{ m.content }}\n{% endfor %}"), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, "-chat", "-chat-template", template)
	}
	return append(list, "-n", "8", "-device", "cpu")
}
