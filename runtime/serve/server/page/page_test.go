package page

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"github.com/tdewolff/parse/v2/html"
	"github.com/tdewolff/parse/v2/js"
)

// parsers say what is wrong with a text, by the ending of its file.
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

// parseHTML wants every element to end where it should.
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

// TestFiles parses every file of the page. What its parts refer to exists.
func TestFiles(t *testing.T) {
	names, err := fs.Glob(files, "*")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	reference := regexp.MustCompile(`(?:src|href|from)[= ]["'](\./|` + folder + `)([\w.]+)["']`)
	found := 0
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
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

// TestParsers: the parsers of this test find mistakes.
func TestParsers(t *testing.T) {
	for ending, text := range map[string]string{".js": "function f( {", ".html": "<main><p></main>", ".svg": "<svg><path></svg>", ".css": "a { color: red; } } b"} {
		if parsers[ending](text) == nil {
			t.Errorf("%s: nothing is wrong with %q", ending, text)
		}
	}
}
