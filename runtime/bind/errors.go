package bind

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// FitError says that a file fits no bundle, or not the one that was asked for.
type FitError struct {
	File       string
	Act        string // the activations that were asked for
	Bundle     string // the closest, or the one asked for; "" if there is none at all
	Asked      bool   // Bundle was asked for by name
	Mismatches []Mismatch
}

// shownMismatches is how many lines of differences the message has.
const shownMismatches = 12

// Error has several lines: what differs, and the commands that help.
func (e *FitError) Error() string {
	var b strings.Builder
	if e.Asked {
		fmt.Fprintf(&b, "bundle %s does not fit %s:\n", e.Bundle, e.File)
		e.list(&b)
		fmt.Fprintf(&b, "to make a bundle for this file, in mlarun's source folder:\n%s", Commands(e.File, e.Act))
		return b.String()
	}
	fmt.Fprintf(&b, "no bundle in this program fits %s; to make one, in mlarun's source folder:\n%s", e.File, Commands(e.File, e.Act))
	if e.Bundle != "" {
		fmt.Fprintf(&b, "\nthe closest bundle, %s, differs in:\n", e.Bundle)
		e.list(&b)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (e *FitError) list(b *strings.Builder) {
	for i, m := range e.Mismatches {
		if i == shownMismatches {
			fmt.Fprintf(b, "  and %d more; mlarun inspect -bundle %s %s lists them all\n", len(e.Mismatches)-i, e.Bundle, quoted(e.File))
			break
		}
		fmt.Fprintf(b, "  %s\n", m)
	}
	if e.Bundle != "" && !slices.ContainsFunc(e.Mismatches, func(m Mismatch) bool { return m.Found != absent }) {
		fmt.Fprintf(b, "all the rest is there: if nobody left these out on purpose, the file is damaged\n")
	}
}

// Commands are the commands that add a bundle for a file, one a line, and then
// the build that contains it. They work in the root of the project's source. The
// bundle has activations act, beside one with f32 if that is another type.
func Commands(file, act string) string {
	spec := "specs/" + specStem(file) + ".yaml"
	options := ""
	if act != plan.ActNames[plan.ElemF32] {
		options = " -act " + strings.Join(plan.ActNames, ",")
	}
	return fmt.Sprintf("  go run ./cmd/mlagen init%s -gguf %s -o %s\n%s", options, quoted(file), spec, compile(spec))
}

// compile are the commands that follow a new or edited spec.
func compile(spec string) string {
	return fmt.Sprintf("  go run ./cmd/mlagen -spec %s\n  go build ./cmd/mlarun", spec)
}

// ActError says that bundles fit a file, but none has the activations that were
// asked for.
type ActError struct {
	File string
	Act  string       // asked for
	Fits *plan.Bundle // with other activations
}

// Error has several lines: what there is, and what adds the bundle.
func (e *ActError) Error() string {
	spec := "specs/" + e.Fits.Spec
	return fmt.Sprintf("no bundle in this program runs %s with %s activations; %s does with %s (-act %s)\n"+
		"to make one, in mlarun's source folder, write \"activations: [%s]\" in %s, then:\n%s",
		e.File, e.Act, e.Fits.Name, e.Fits.Act(), e.Fits.Act(), strings.Join(plan.ActNames, ", "), spec, compile(spec))
}

// shardSuffix ends the names of the parts of a split model.
var shardSuffix = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// specStem makes a bundle name, which must be a Go identifier, of a file name.
func specStem(file string) string {
	base := shardSuffix.ReplaceAllString(strings.TrimSuffix(filepath.Base(file), ".gguf"), "")
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	stem := strings.Join(words, "_")
	if stem == "" || stem[0] >= '0' && stem[0] <= '9' {
		stem = "m" + stem
	}
	return stem
}

// quoted protects a path from the shell if it needs that.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
