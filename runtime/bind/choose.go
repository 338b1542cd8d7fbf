package bind

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Choose picks the bundle that runs f. Among those that fit, one with a quant
// profile that matches the type of every tensor wins, then the first by name.
// If name is not empty, that bundle is taken; it is an error if it does not
// fit. With none to take, the error says how to make one and in what the
// closest bundle differs.
func Choose(f *gguf.File, bundles []*plan.Bundle, name string) (*plan.Bundle, error) {
	bundles = slices.SortedFunc(slices.Values(bundles), func(a, b *plan.Bundle) int { return cmp.Compare(a.Name, b.Name) })
	if name != "" {
		return byName(f, bundles, name)
	}
	var first *plan.Bundle
	closest := &FitError{File: f.Path}
	for _, b := range bundles {
		bad := Fit(f, b)
		switch {
		case len(bad) == 0 && Profile(f, b) != "":
			return b, nil
		case len(bad) == 0 && first == nil:
			first = b
		case len(bad) > 0 && (closest.Bundle == "" || distance(bad) < distance(closest.Mismatches)):
			closest.Bundle, closest.Mismatches = b.Name, bad
		}
	}
	if first != nil {
		return first, nil
	}
	return nil, closest
}

// distance is the number of things that differ, each layer's tensors counted.
func distance(bad []Mismatch) int {
	n := len(bad)
	for _, m := range bad {
		n += m.More
	}
	return n
}

func byName(f *gguf.File, bundles []*plan.Bundle, name string) (*plan.Bundle, error) {
	var names []string
	for _, b := range bundles {
		if b.Name == name {
			if bad := Fit(f, b); len(bad) > 0 {
				return nil, &FitError{File: f.Path, Bundle: name, Mismatches: bad, Asked: true}
			}
			return b, nil
		}
		names = append(names, b.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("bundle %q: this program was built without bundles", name)
	}
	return nil, fmt.Errorf("bundle %q is not in this program, which has %s", name, strings.Join(names, ", "))
}

// Profile is the name of the first quant profile of b that has the type of
// every tensor of f, "" if there is none. The file must fit the bundle.
func Profile(f *gguf.File, b *plan.Bundle) string {
	types := make([][]quant.Type, len(b.Weights))
	for i := range b.Weights {
		for l := range layers(&b.Weights[i]) {
			src, bad := find(f, b, &b.Weights[i], l)
			if bad != nil {
				return ""
			}
			types[i] = append(types[i], src.typ)
		}
	}
	for _, p := range b.Profiles {
		if slices.EqualFunc(p.Types, types, slices.Equal) {
			return p.Name
		}
	}
	return ""
}

// FitError says that a file fits no bundle, or not the one that was asked for.
type FitError struct {
	File       string
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
		fmt.Fprintf(&b, "to make a bundle for this file, in mlarun's source folder:\n%s", Commands(e.File))
		return b.String()
	}
	fmt.Fprintf(&b, "no bundle in this program fits %s; to make one, in mlarun's source folder:\n%s", e.File, Commands(e.File))
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
}

// Commands are the commands that add a bundle for a file, one a line, and then
// the build that contains it. They work in the root of the project's source.
func Commands(file string) string {
	spec := "specs/" + specStem(file) + ".yaml"
	return fmt.Sprintf("  go run ./cmd/mlagen init -gguf %s -o %s\n  go run ./cmd/mlagen -spec %s\n  go build ./cmd/mlarun", quoted(file), spec, spec)
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
