package gen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxWords is how many words each document may have, as `wc -w` counts them. A document that
// outgrows its number is cut, or becomes two; a new document gets a line here.
var maxWords = map[string]int{
	"README.md": 1500, "ARCHITECTURE.md": 2000, "CONTRIBUTING.md": 1000, "SECURITY.md": 250,

	"docs/README.md": 300,

	"docs/choosing.md": 900, "docs/clients.md": 600, "docs/library.md": 800, "docs/llama-cpp.md": 1000,
	"docs/mac.md": 1600, "docs/serving.md": 2200,

	"docs/bundle-format.md": 1000, "docs/http-api.md": 3400, "docs/kv-cache.md": 800, "docs/mlagen.md": 900,
	"docs/mlarun.md": 2000, "docs/release.md": 1000,

	"docs/gpu-proof.md": 1500, "docs/mutations.md": 850, "docs/performance.md": 1500, "docs/security.md": 1300,
	"docs/testing.md": 2000,
}

const (
	maxSentence      = 45  // words
	maxParagraph     = 150 // words
	maxIdea          = 100 // words of a paragraph of ARCHITECTURE.md
	maxMeanSentence  = 21  // words, over all documents
	leastOfSentences = 500 // that all documents have; fewer would mean that the test reads nothing
)

// TestWords checks that documents, paragraphs and sentences are short. docs/lab is a diary and is not
// checked.
func TestWords(t *testing.T) {
	documents := append(tracked(t, "docs/*.md"), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
	words, sentences, seen := 0, 0, map[string]bool{}
	for _, name := range documents {
		if folder := filepath.Dir(name); folder != "." && folder != "docs" {
			continue
		}
		seen[name] = true
		text := string(read(t, name))
		if n := len(strings.Fields(text)); n > maxWords[name] {
			t.Errorf("%s has %d words; at most %d", name, n, maxWords[name])
		}
		for _, p := range paragraphs(text) {
			most := maxParagraph
			if name == "ARCHITECTURE.md" {
				most = maxIdea
			}
			if n := len(strings.Fields(p)); n > most {
				t.Errorf("%s: a paragraph of %d words; at most %d: %s", name, n, most, beginning(p))
			}
			for _, s := range sentencesOf(p) {
				n := len(strings.Fields(s))
				if n > maxSentence {
					t.Errorf("%s: a sentence of %d words; at most %d: %s", name, n, maxSentence, beginning(s))
				}
				if strings.ContainsAny(s[len(s)-1:], ".!?") { // no label and no cell
					words, sentences = words+n, sentences+1
				}
			}
		}
	}
	for name := range maxWords {
		if !seen[name] {
			t.Errorf("%s is not there", name)
		}
	}
	if sentences < leastOfSentences || words > maxMeanSentence*sentences {
		t.Errorf("%d words in %d sentences; expected at least %d sentences, of %d words in the mean", words, sentences, leastOfSentences, maxMeanSentence)
	}
}

// TestWings: ARCHITECTURE.md says how many lines the wings of the runtime have, to 15 in a hundred.
func TestWings(t *testing.T) {
	lines := map[string]int{}
	for _, name := range tracked(t, "runtime/*.go") {
		if !strings.HasSuffix(name, "_test.go") {
			lines[strings.Join(strings.Split(name, "/")[:2], "/")] += bytes.Count(read(t, name), []byte("\n"))
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `(runtime/[a-z]+)` \\| ([0-9,]+) \\|").FindAllStringSubmatch(string(read(t, "ARCHITECTURE.md")), -1)
	if len(rows) != len(lines) {
		t.Errorf("ARCHITECTURE.md has %d wings; there are %d", len(rows), len(lines))
	}
	for _, row := range rows {
		said, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		if n := lines[row[1]]; err != nil || 100*n < 85*said || 100*n > 115*said {
			t.Errorf("ARCHITECTURE.md says that %s has %s lines; it has %d", row[1], row[2], n)
		}
	}
}

// TestSentences holds the counting to texts whose sentences are known.
func TestSentences(t *testing.T) {
	text := "# A heading\n\nOne. Two `a. b` three\nfour? [Five. six](x.md#y)!\n\n```sh\nno. text\n```\n\n" +
		"* an item, e.g. 1.5 of it\n  that goes on\n* another\n\n| head | cell |\n|---|---:|\n| One. Two | `x | y` |\n"
	var got []string
	for _, p := range paragraphs(text) {
		got = append(got, sentencesOf(p)...)
	}
	want := []string{"One.", "Two CODE three four?", "Five. six!", "an item, e.g. 1.5 of it that goes on", "another", "head", "cell", "One.", "Two", "CODE"}
	if !slices.Equal(got, want) {
		t.Errorf("sentences are\n%q\nexpected\n%q", got, want)
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlined = regexp.MustCompile("`[^`\n]+`")
	linked  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	item    = regexp.MustCompile(`^ *(\*|-|\d+\.) `)
	rule    = regexp.MustCompile(`^\|[-:| ]+\|$`)
	// end is where a sentence ends: a mark, perhaps with a bracket or the end of bold text, in
	// front of a blank and of what a sentence begins with.
	end = regexp.MustCompile(`[.!?][)*"]* +[^a-z0-9]`)
)

// paragraphs are the paragraphs of a document in Markdown, the items of its lists, and the
// cells of its tables. Code is one word, and blocks of code are none.
func paragraphs(text string) (list []string) {
	text = inlined.ReplaceAllString(fenced.ReplaceAllString(text, ""), "CODE")
	text = linked.ReplaceAllString(text, "$1")
	open := false // the last of the list may go on
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || rule.MatchString(line):
			open = false
		case strings.HasPrefix(line, "|"):
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				if cell = strings.TrimSpace(cell); cell != "" {
					list = append(list, cell)
				}
			}
			open = false
		case open && !item.MatchString(line):
			list[len(list)-1] += " " + strings.TrimSpace(line)
		default:
			list, open = append(list, item.ReplaceAllString(line, "")), true
		}
	}
	return list
}

// sentencesOf cuts a paragraph.
func sentencesOf(paragraph string) (list []string) {
	for {
		at := end.FindStringIndex(paragraph)
		if at == nil {
			return append(list, paragraph)
		}
		cut := at[0] + strings.IndexByte(paragraph[at[0]:], ' ')
		list = append(list, paragraph[:cut])
		paragraph = strings.TrimLeft(paragraph[cut:], " ")
	}
}

// beginning is enough of a text to find it.
func beginning(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(12, len(words))], " ") + " …"
}

// TestLinks checks that the targets of links in documents exist, and the headings that links name.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	count := 0
	for _, name := range tracked(t, "*.md") {
		if strings.Contains(name, "testdata") {
			continue
		}
		text := inlined.ReplaceAllString(fenced.ReplaceAllString(string(read(t, name)), ""), "CODE")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := name
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(string(read(t, to))), m[2]) {
				t.Errorf("%s links to %s%s; %s has no such heading", name, m[1], m[2], to)
			}
			count++
		}
	}
	if count < 50 {
		t.Errorf("%d links; expected 50 and more", count)
	}
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noName  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names of a document's headings in links, as GitHub makes them.
func anchors(text string) (list []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		list = append(list, "#"+strings.ReplaceAll(noName.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}
