package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mla/cmd/internal/output"
)

// printFlags lists the flags of a command: first the common flags, then the others by group.
func (f *flags) printFlags(w io.Writer) {
	f.addAliases()
	byGroup := map[string]string{}
	f.VisitAll(func(fl *flag.Flag) {
		if f.named[fl.Name] == "" && !slices.Contains(first, fl.Name) {
			o := f.option(fl)
			byGroup[o.group] += f.describeFlag(fl, o)
		}
	})
	for _, name := range first {
		if fl := f.Lookup(name); fl != nil && f.named[name] == "" {
			byGroup[groupFirst] += f.describeFlag(fl, f.option(fl))
		}
	}
	for _, group := range append([]string{groupFirst}, groups...) {
		if text := byGroup[group]; text != "" {
			fmt.Fprint(w, "\n"+group+"\n"+text)
		}
	}
}

// option returns the row of a flag in options.
func (f *flags) option(fl *flag.Flag) *option {
	if o := optionOf(f.Name(), fl.Name); o != nil {
		return o
	}
	return &option{name: fl.Name, group: groupOther}
}

// describeFlag returns a line with the names of a flag, and its usage below.
func (f *flags) describeFlag(fl *flag.Flag, o *option) string {
	value, text := flag.UnquoteUsage(fl)
	line := "  -" + fl.Name
	for _, alias := range strings.Fields(o.aliases) {
		if f.named[alias] == fl.Name {
			line += ", -" + alias
		}
	}
	if value != "" {
		line += " " + strings.ToUpper(strings.ReplaceAll(value, " ", "-"))
	}
	switch d := fl.DefValue; {
	case d == "" || d == "0" || d == "false" || d == "0s" || strings.Contains(text, "(default"):
	default:
		text += " (default " + d + ")"
	}
	if o.env != "" {
		text += " [" + o.env + "]"
	}
	return line + "\n" + output.Wrapped(output.Width, text, "      ")
}

// broken breaks lines that are wider than a terminal between words.
func broken(text string, columns int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line) <= columns {
			out.WriteString(line)
			continue
		}
		out.WriteString(strings.TrimSuffix(output.Wrapped(columns, line, ""), "\n"))
		if strings.HasSuffix(line, "\n") {
			out.WriteString("\n")
		}
	}
	return out.String()
}
