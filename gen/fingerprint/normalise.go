package main

import (
	"fmt"
	"regexp"
	"strings"

	"mla/runtime/plan/ptxfile"
)

// given matches names that the compiler makes up: mangled names and labels. Entries and registers do not
// count: an entry is called by its name, and registers are parts of instructions.
var given = regexp.MustCompile(`(?:\$L__|_Z|__local_depot)[\w$]*`)

// normalise returns PTX as lines, without comments and empty lines, except the line that says how much
// threadgroup memory a launch must request. The n-th name made up by the compiler is replaced by <name n>.
func normalise(text string) []string {
	var lines []string
	names := map[string]string{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, ptxfile.DynamicMark) { // this line is a comment only to other programs
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
