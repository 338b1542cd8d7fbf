package bind

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// FitError says that a file fits no bundle, or not the bundle that was asked for.
type FitError struct {
	File       string
	Act        string // the activations that were asked for
	Bundle     string // the closest bundle, or the one asked for; "": there is none at all
	Asked      bool   // Bundle was asked for by name
	Other      string // a bundle that fits although Bundle, which was asked for, does not; "": none
	Mismatches []Mismatch
}

// shownMismatches is the most lines of differences in a message.
const shownMismatches = 12

// Error names the command that helps. For a bundle that was asked for, it lists the differences in further
// lines.
func (e *FitError) Error() string {
	if e.Asked {
		var b strings.Builder
		fmt.Fprintf(&b, "bundle %s does not fit %s:\n", e.Bundle, e.File)
		e.list(&b)
		if e.Other != "" {
			fmt.Fprintf(&b, "bundle %s fits: leave out -bundle", e.Other)
			return b.String()
		}
		fmt.Fprintf(&b, "to make a bundle for this file: %s", Command(e.File, e.Act))
		return b.String()
	}
	return fmt.Sprintf("no bundle fits %s; to make one: %s", e.File, Command(e.File, e.Act))
}

// Closest lists the differences to the closest bundle in several lines; "": there is none.
func (e *FitError) Closest() string {
	if e.Bundle == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the closest bundle, %s, %s:\n", e.Bundle, e.differs())
	e.list(&b)
	return b.String()
}

// differs names the closest bundle and the differences to it.
func (e *FitError) differs() string {
	if slices.ContainsFunc(e.Mismatches, func(m Mismatch) bool { return !m.Types }) {
		return "differs in"
	}
	return "is of this model, but for other quantisation types"
}

func (e *FitError) list(b *strings.Builder) {
	for i, m := range e.Mismatches {
		if i == shownMismatches {
			fmt.Fprintf(b, "  and %d more; mlarun inspect -bundle %s %s lists them all\n", len(e.Mismatches)-i, e.Bundle, Quoted(e.File))
			break
		}
		fmt.Fprintf(b, "  %s\n", m)
	}
	if e.Bundle != "" && !slices.ContainsFunc(e.Mismatches, func(m Mismatch) bool { return m.Found != absent }) {
		fmt.Fprintf(b, "all the rest is there: if nobody left these out on purpose, the file is damaged\n")
	}
}

// Command is the command that makes a bundle for a file, next to the file. The bundle file has a bundle with
// activations act, and one with f32.
func Command(file, act string) string {
	options := ""
	if act != plan.ActNames[plan.ElemF32] {
		options = " -act " + strings.Join(plan.ActNames, ",")
	}
	return fmt.Sprintf("mlagen -gguf %s%s", Quoted(file), options)
}

// ActError says that bundles fit a file, but none of them has the activations that were asked for.
type ActError struct {
	File string
	Act  string       // asked for
	Fits *plan.Bundle // with other activations
}

// Error says which activations there are, and which command adds the bundle.
func (e *ActError) Error() string {
	return fmt.Sprintf("no bundle runs %s with %s activations; %s does with %s (-act %s)\nto make one: mlagen -gguf %s -act %s",
		e.File, e.Act, e.Fits.Name, e.Fits.Act(), e.Fits.Act(), Quoted(e.File), strings.Join(plan.ActNames, ","))
}

// Quoted quotes a path for the shell where necessary.
func Quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
