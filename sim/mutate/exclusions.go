package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// exclusions are patterns of mutations: those of docs/mutations.md that change
// nothing.
type exclusions struct{ patterns []string }

// row is a line of the document's table: patterns in backquotes, then a proof.
var row = regexp.MustCompile("^\\| (`[^`]+`(?:<br>`[^`]+`)*) \\| (.+) \\|$")

var quoted = regexp.MustCompile("`([^`]+)`")

// readExclusions reads the table below the heading "Excluded". A row that is not one is an
// error: its mutations would count as escaped.
func readExclusions(path string) (*exclusions, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, list, ok := strings.Cut(string(text), "\n## Excluded\n")
	if !ok {
		return nil, fmt.Errorf("%s has no section Excluded", path)
	}
	_, list, ok = strings.Cut(list, "\n|---|---|\n")
	if !ok {
		return nil, fmt.Errorf("%s: the section Excluded has no table of two columns", path)
	}
	x := &exclusions{}
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "|") {
			break // the end of the table
		}
		f := row.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if f == nil {
			return nil, fmt.Errorf("%s: the row %q is not of the form | `PATTERN`<br>`PATTERN` | PROOF |", path, line)
		}
		for _, p := range quoted.FindAllStringSubmatch(f[1], -1) {
			x.patterns = append(x.patterns, strings.ReplaceAll(p[1], `\|`, "|"))
		}
	}
	return x, nil
}

// lists tells whether a mutation is excluded.
func (x *exclusions) lists(id string) bool {
	for _, p := range x.patterns {
		if match(p, id) {
			return true
		}
	}
	return false
}

// match compares with a pattern in which * stands for any text.
func match(pattern, id string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(id, first) {
		return false
	}
	id = id[len(first):]
	if !star {
		return id == ""
	}
	for i := range len(id) + 1 {
		if match(rest, id[i:]) {
			return true
		}
	}
	return false
}
