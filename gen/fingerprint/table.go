package main

import (
	"fmt"
	"slices"
	"strings"
)

// line is one fingerprint.
type line struct {
	bundle string
	what   string // one of kinds; if a bundle has several of the kind, then "=" and which one
	value  string
}

// table is a list of fingerprints. Those of a bundle are consecutive.
type table []line

// The kinds of fingerprints.
const (
	planKind       = "plan"     // the plan, as JSON without the source and the hash of the spec
	profileKind    = "profile"  // the Metal text for one profile, with all caches, on all classes of GPUs
	cacheKind      = "cache"    // the Metal text for one cache type and class of GPUs, of all profiles
	translatedKind = "cuda"     // the translated source, headers and flags, without comments
	ptxKind        = "ptx"      // the PTX without names and comments, and the version of clang
	functionKind   = "function" // the Metal text of one kernel function; printed on demand only
)

var kinds = []string{planKind, profileKind, cacheKind, translatedKind, ptxKind, functionKind}

// head is the comment above a table in its file.
const head = `# What each bundle of specs/ and specs/more/ compiles to: hashes, by go run ./gen/fingerprint.
# A clean-up leaves this file as it is. A change of plans or kernels that is meant goes into
# one commit with what "go run ./gen/fingerprint -update" makes of it.
`

// String returns the table as it is written to a file.
func (t table) String() string {
	var s strings.Builder
	s.WriteString(head)
	for _, l := range t {
		fmt.Fprintf(&s, "%s %s %s\n", l.bundle, l.what, l.value)
	}
	return s.String()
}

// parse reads the output of String.
func parse(text string) (table, error) {
	var t table
	seen := map[[2]string]bool{}
	for i, row := range strings.Split(text, "\n") {
		fields := strings.Fields(row)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %d has %d words; expected 3: a bundle, what is hashed, the hash", i+1, len(fields))
		}
		l := line{fields[0], fields[1], fields[2]}
		if !slices.Contains(kinds, l.kind()) {
			return nil, fmt.Errorf("line %d: a fingerprint of %q; expected one of %s", i+1, l.kind(), strings.Join(kinds, ", "))
		}
		if key := [2]string{l.bundle, l.what}; seen[key] {
			return nil, fmt.Errorf("line %d: %s has a second %s", i+1, l.bundle, l.what)
		} else {
			seen[key] = true
		}
		t = append(t, l)
	}
	return t, nil
}

func (l *line) kind() string {
	kind, _, _ := strings.Cut(l.what, "=")
	return kind
}

// of returns the lines of a bundle.
func (t table) of(bundle string) (list table) {
	for _, l := range t {
		if l.bundle == bundle {
			list = append(list, l)
		}
	}
	return list
}

// kind returns the lines of a kind.
func (t table) kind(kind string) (list table) {
	for _, l := range t {
		if l.kind() == kind {
			list = append(list, l)
		}
	}
	return list
}

// value returns a fingerprint of a bundle; "" if there is none.
func (t table) value(bundle, what string) string {
	for _, l := range t {
		if l.bundle == bundle && l.what == what {
			return l.value
		}
	}
	return ""
}

// over completes t, which may lack bundles and PTX that were not compiled, from an older table. The PTX hash
// of a bundle is kept if the hash of clang's input is unchanged. bundles are the names in the order of the
// result.
func (t table) over(old table, bundles []string) (all table) {
	for _, name := range bundles {
		now := t.of(name)
		if len(now) == 0 {
			all = append(all, old.of(name)...)
			continue
		}
		all = append(all, now...)
		before := old.value(name, ptxKind)
		if before != "" && now.value(name, ptxKind) == "" && now.value(name, translatedKind) == old.value(name, translatedKind) {
			all = append(all, line{name, ptxKind, before})
		}
	}
	return all
}

// changes lists the differences between two tables, one line for each bundle.
func changes(was, is table) (list []string) {
	var names []string
	for _, l := range slices.Concat(is, was) {
		if !slices.Contains(names, l.bundle) {
			names = append(names, l.bundle)
		}
	}
	for _, name := range names {
		before, after := was.of(name), is.of(name)
		switch {
		case len(before) == 0:
			list = append(list, name+": a new bundle")
		case len(after) == 0:
			list = append(list, name+": no such bundle any more")
		default:
			if differ := bundleChanges(before, after); len(differ) > 0 {
				list = append(list, name+": "+strings.Join(differ, "; "))
			}
		}
	}
	return list
}

// bundleChanges lists the differences between the fingerprints of a bundle by kind.
func bundleChanges(before, after table) (list []string) {
	all := slices.Clone(after)
	for _, l := range before {
		if after.value(l.bundle, l.what) == "" {
			all = append(all, l)
		}
	}
	for _, kind := range kinds {
		var differ []string
		lines := all.kind(kind)
		for _, l := range lines {
			was, is := before.value(l.bundle, l.what), after.value(l.bundle, l.what)
			_, of, several := strings.Cut(l.what, "=")
			switch {
			case was == is:
			case several:
				differ = append(differ, of)
			default:
				list = append(list, fmt.Sprintf("%s was %s, is %s", kind, orNone(was), orNone(is)))
			}
		}
		if len(differ) > 0 {
			list = append(list, fmt.Sprintf("%d of %d %ss (%s)", len(differ), len(lines), kind, some(differ)))
		}
	}
	return list
}

func orNone(value string) string {
	if value == "" {
		return "missing"
	}
	return value
}

// some returns the first few names of a list.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
