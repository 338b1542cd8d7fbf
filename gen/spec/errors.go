package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/system/nearest"
)

// maxErrors is the largest number of mistakes that a message shows.
const maxErrors = 20

// Error is one mistake with its position.
type Error struct {
	File         string
	Line, Column int // from 1
	Msg          string
}

// Error formats the mistake as file:line:col: message.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// ErrorList is the list of all mistakes in a spec and its tuning files, ordered by file and position.
type ErrorList []Error

// Error lists the first 20 mistakes, one per line.
func (l ErrorList) Error() string {
	var b strings.Builder
	for i, e := range l {
		if i == maxErrors {
			fmt.Fprintf(&b, "\n… and %d more", len(l)-maxErrors)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

func (l ErrorList) sort() {
	slices.SortStableFunc(l, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// unknown is the message for a name that is not among allowed. It suggests the nearest allowed name, or lists
// all of them.
func unknown(what, name string, allowed []string) string {
	if near := nearest.Of(name, allowed); near != "" {
		return fmt.Sprintf("unknown %s %q (did you mean %q?)", what, name, near)
	}
	return fmt.Sprintf("unknown %s %q; allowed: %s", what, name, strings.Join(allowed, ", "))
}
