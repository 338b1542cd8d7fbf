package main

import (
	"fmt"
	"regexp"
	"strings"
)

// given are names that the compiler gives: mangled ones, and labels. Entries and registers
// are none of them: an entry is called by its name, and registers are part of instructions.
var given = regexp.MustCompile(`(?:\$L__|_Z|__local_depot)[\w$]*`)

// normalise is PTX line by line, without comments and empty lines. The n-th name that the
// compiler gave is called name n, whatever it was.
func normalise(text string) []string {
	var lines []string
	names := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimRight(line, " \t\n"); line == "" {
			continue
		}
		lines = append(lines, given.ReplaceAllStringFunc(line, func(name string) string {
			if names[name] == "" {
				names[name] = fmt.Sprintf("<name %d>", len(names)+1)
			}
			return names[name]
		}))
	}
	return lines
}
