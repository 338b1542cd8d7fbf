package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// exclusionsFile lists the mutations that do not change any result, with a reason for each.
const exclusionsFile = "sim/mutate/exclusions.json"

// exclusions are the patterns of excluded mutations.
type exclusions struct{ patterns []string }

// exclusion is one entry of exclusionsFile.
type exclusion struct {
	Patterns []string `json:"patterns"` // of IDs; * matches any text
	Why      string   `json:"why"`      // the reason why no result changes
}

// readExclusions reads a file of exclusions. An entry without a pattern is an error, because its mutations
// would count as escaped. An entry without a reason is an error, because nobody could check it.
func readExclusions(path string) (*exclusions, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var list []exclusion
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w; expected a list of {\"patterns\": [TEXT], \"why\": TEXT}", path, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: more follows the list; expected its end", path)
	}
	x := &exclusions{}
	for i, e := range list {
		if len(e.Patterns) == 0 || strings.TrimSpace(e.Why) == "" {
			return nil, fmt.Errorf("%s: entry %d has %d patterns and the reason %q; expected both", path, i+1, len(e.Patterns), e.Why)
		}
		for _, p := range e.Patterns {
			if strings.Trim(p, "*") == "" {
				return nil, fmt.Errorf("%s: entry %d has the pattern %q, which excludes everything or nothing", path, i+1, p)
			}
			x.patterns = append(x.patterns, p)
		}
	}
	return x, nil
}

// lists reports whether a mutation is excluded.
func (x *exclusions) lists(id string) bool {
	for _, p := range x.patterns {
		if match(p, id) {
			return true
		}
	}
	return false
}

// match reports whether id matches a pattern in which * matches any text.
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
