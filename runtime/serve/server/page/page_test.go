package page

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"github.com/tdewolff/parse/v2/html"
	"github.com/tdewolff/parse/v2/js"
)

// parsers return an error for a malformed text, by the ending of its file.
var parsers = map[string]func(text string) error{
	".js": func(text string) error {
		_, err := js.Parse(parse.NewInputString(text), js.Options{})
		return err
	},
	".css":  parseCSS,
	".html": parseHTML,
	".svg":  func(text string) error { return xml.Unmarshal([]byte(text), new(struct{})) },
}

func parseCSS(text string) error {
	p := css.NewParser(parse.NewInputString(text), false)
	for {
		if kind, _, _ := p.Next(); kind == css.ErrorGrammar {
			if err := p.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
	}
}

// void are the elements that have no end tag.
var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "hr": true, "img": true}

// parseHTML returns an error unless every element ends where it should.
func parseHTML(text string) error {
	l := html.NewLexer(parse.NewInputString(text))
	var open []string
	for {
		switch kind, _ := l.Next(); kind {
		case html.ErrorToken:
			if err := l.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			if len(open) > 0 {
				return errors.New("no end of " + strings.Join(open, ", "))
			}
			return nil
		case html.StartTagToken:
			if name := string(l.Text()); !void[name] {
				open = append(open, name)
			}
		case html.StartTagVoidToken:
			open = open[:len(open)-1]
		case html.EndTagToken:
			name := string(l.Text())
			if len(open) == 0 || open[len(open)-1] != name {
				return errors.New("</" + name + "> ends none of " + strings.Join(open, ", "))
			}
			open = open[:len(open)-1]
		}
	}
}

// TestFiles parses every file of the page, and checks that everything it refers to exists.
func TestFiles(t *testing.T) {
	var names []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	reference := regexp.MustCompile(`(?:src|href|from)[= ]["'](\./|page/)([\w./]+)["']`)
	found := 0
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "vendor/") { // the libraries' own tests are elsewhere
			continue
		}
		parser := parsers[path.Ext(name)]
		if parser == nil || types[path.Ext(name)] == "" {
			t.Errorf("%s: no parser or no type for such a file", name)
			continue
		}
		if err := parser(string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, err := files.ReadFile(m[2]); err != nil {
				t.Errorf("%s refers to %s: %v", name, m[2], err)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d references from file to file", found)
	}
}

// TestParsers checks that the parsers of this test find mistakes.
func TestParsers(t *testing.T) {
	for ending, text := range map[string]string{".js": "function f( {", ".html": "<main><p></main>", ".svg": "<svg><path></svg>", ".css": "a { color: red; } } b"} {
		if parsers[ending](text) == nil {
			t.Errorf("%s: nothing is wrong with %q", ending, text)
		}
	}
}

// TestVendor checks that each library has its licence, that its style sheet's fonts exist, that no file is
// large, and that clients without compression get compressed files unpacked.
func TestVendor(t *testing.T) {
	style, err := files.ReadFile("vendor/katex.css")
	if err != nil {
		t.Fatal(err)
	}
	fonts, err := fs.Glob(files, "vendor/fonts/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllSubmatch(style, -1) {
		fonts = slices.DeleteFunc(fonts, func(name string) bool { return name == "vendor/"+string(m[1]) })
		if _, err := files.ReadFile("vendor/" + string(m[1])); err != nil {
			t.Error(err)
		}
	}
	if len(fonts) > 0 {
		t.Errorf("no style uses %q", fonts)
	}
	for _, name := range []string{"katex", "highlight"} {
		if text, err := files.ReadFile("vendor/" + name + ".LICENSE"); err != nil || !strings.Contains(string(text), "Copyright (c)") {
			t.Errorf("%s has no licence: %v", name, err)
		}
		packed := get(t, "/page/vendor/"+name+".js", "br, gzip")
		plain := get(t, "/page/vendor/"+name+".js", "")
		text, err := unpack(packed.Body.Bytes())
		if err != nil || packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" || string(text) != plain.Body.String() || len(text) < 100_000 {
			t.Errorf("%s: %v, %v, %d bytes, %v", name, err, packed.Header(), len(text), plain.Header())
		}
		if packed.Body.Len() > 200_000 {
			t.Errorf("%s takes %d bytes", name, packed.Body.Len())
		}
		if err := parsers[".js"](string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w := get(t, "/page/vendor/katex.LICENSE", ""); w.Code != http.StatusNotFound {
		t.Errorf("a file without a type: %d", w.Code)
	}
}

// get returns the answer to a request for a file.
func get(t *testing.T, url, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r, w := httptest.NewRequest("GET", url, nil), httptest.NewRecorder()
	r.Header.Set("Accept-Encoding", accept)
	if !Serve(w, r) {
		w.WriteHeader(http.StatusNotFound)
	}
	return w
}
