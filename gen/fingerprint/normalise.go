package main

import (
	"fmt"
	"regexp"
	"strings"

	"mla/runtime/plan/ptxfile"
)

// given are names that the compiler gives: mangled ones, and labels. Entries and registers
// are none of them: an entry is called by its name, and registers are part of instructions.
var given = regexp.MustCompile(`(?:\$L__|_Z|__local_depot)[\w$]*`)

// normalise is PTX line by line, without comments and empty lines, but
// for the line that says how much threadgroup memory a launch has to ask for. The n-th name that the
// compiler gave is called name n, whatever it was.
func normalise(text string) []string {
	var lines []string
	names := map[string]string{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, ptxfile.DynamicMark) { // which is a comment to others alone
			line, _, _ = strings.Cut(line, "//")
		}
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
