package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// helpWidth is the width of help texts, in columns.
const helpWidth = 96

// printFlags lists a command's flags by group.
func (f *flags) printFlags(w io.Writer) {
	f.addAliases()
	for _, group := range groups {
		head := "\n" + group + "\n"
		f.VisitAll(func(fl *flag.Flag) {
			o := optionOf(f.Name(), fl.Name)
			if o == nil {
				o = &option{name: fl.Name, group: groupOther}
			}
			if f.named[fl.Name] != "" || o.group != group {
				return
			}
			fmt.Fprint(w, head, f.describeFlag(fl, o))
			head = ""
		})
	}
}

// describeFlag is a line with the names of a flag, and what it does below.
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
	return line + "\n" + wrapped(text, "      ")
}

// wrapped breaks a text into indented lines.
func wrapped(text, indent string) string {
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			out.WriteString(indent)
			column = len(indent)
		case column+1+n > helpWidth:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String() + "\n"
}
