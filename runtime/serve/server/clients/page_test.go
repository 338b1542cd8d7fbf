// Package clients runs programs that people use against the server, as docs/clients.md says.
// They come from npm, so that nothing else depends on these tests. Of programs that live in an
// editor, or are written in Python, testdata has requests in the form in which they send them.
package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// programs are the sections of docs/clients.md, with the test that does what each says: a
// function of this package, or a file of testdata that TestReplay sends.
var programs = []struct{ title, test string }{
	{"Claude Code", "TestClaudeCode"}, {"Codex", "TestCodex"}, {"opencode", "TestOpenCode"},
	{"Cline", "cline.json"}, {"Continue", "continue.json"}, {"llama.vim", "llama-vim.json"}, {"Open WebUI", "open-webui.json"},
	{"LangChain", "TestSDKs"}, {"AI SDK", "TestSDKs"}, {"Ollama's client", "TestSDKs"},
}

// here is the address of the server in the page.
const here = "http://localhost:8080"

var (
	headings = regexp.MustCompile(`(?m)^## (.*)$`)
	fences   = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")
)

// page returns the sections of docs/clients.md.
func page(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	at := headings.FindAllSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out[string(text[m[2]:m[3]])] = string(text[m[1]:end])
	}
	return out
}

// blocks returns the code blocks of a section by language.
func blocks(t *testing.T, title string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range fences.FindAllStringSubmatch(page(t)[title], -1) {
		out[m[1]] = m[2]
	}
	return out
}

// TestPage checks that each section has a test and begins with the server.
func TestPage(t *testing.T) {
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	sections := page(t)
	for _, p := range programs {
		if _, ok := sections[p.title]; !ok {
			t.Errorf("docs/clients.md has no section %q", p.title)
			continue
		}
		delete(sections, p.title)
		b := blocks(t, p.title)
		if !strings.HasPrefix(b["sh"], "mlarun serve -model") || len(b) < 2 && !strings.Contains(b["sh"], "\nexport ") {
			t.Errorf("%s: expected mlarun serve, and a setting: %q", p.title, b)
		}
		if _, err := os.Stat(filepath.Join("testdata", p.test)); err != nil && !strings.Contains(code.String(), "\nfunc "+p.test+"(t *testing.T) {") {
			t.Errorf("%s: there is no test %s", p.title, p.test)
		}
	}
	for title := range sections {
		t.Errorf("the section %q has no test", title)
	}
}

// TestReplay sends recorded requests of programs that no test runs, to the paths below the addresses in the
// page.
func TestReplay(t *testing.T) {
	base := serve(t, "multiply")
	for _, p := range programs {
		text, err := os.ReadFile(filepath.Join("testdata", p.test))
		if err != nil {
			continue // it is a function, as TestPage sees to
		}
		var requests []struct {
			Method, Path string
			Body         json.RawMessage
			Said         string // the whole text, of a stream put together
			Want         []string
		}
		if err := json.Unmarshal(text, &requests); err != nil {
			t.Fatalf("%s: %v", p.test, err)
		}
		bases := addresses(t, p.title)
		for _, q := range requests {
			if !slices.ContainsFunc(bases, func(path string) bool { return strings.HasPrefix(q.Path, path) }) {
				t.Errorf("%s: %s is below none of %q", p.title, q.Path, bases)
			}
			r, err := http.NewRequest(q.Method, base+q.Path, strings.NewReader(string(q.Body)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer x")
			r.Header.Set("Content-Type", "application/json")
			out, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(out.Body)
			out.Body.Close()
			if err != nil || out.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %v %s %s", p.title, q.Path, err, out.Status, got)
			}
			if text := said(got); q.Said != "" && text != q.Said {
				t.Errorf("%s %s %.200s: it says %q: %s", p.title, q.Path, q.Body, text, got)
			}
			for _, want := range q.Want {
				if !strings.Contains(string(got), want) {
					t.Errorf("%s %s %.200s: %s; expected %s", p.title, q.Path, q.Body, got, want)
				}
			}
		}
	}
}

// said returns the text of an answer, which is an object or a stream of objects.
func said(answer []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(answer)) {
		type message struct{ Content string }
		var v struct {
			message // llama-server's
			Message message
			Choices []struct{ Message, Delta message }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &v) != nil {
			continue // a line between events, or the last one
		}
		out.WriteString(v.Content + v.Message.Content)
		for _, c := range v.Choices {
			out.WriteString(c.Message.Content + c.Delta.Content)
		}
	}
	return out.String()
}

// addresses returns the paths of the server's addresses in a section.
func addresses(t *testing.T, title string) (paths []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(regexp.QuoteMeta(here)+`[a-z0-9/]*`).FindAllString(page(t)[title], -1) {
		u, err := url.Parse(found)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, u.Path)
	}
	return paths
}
