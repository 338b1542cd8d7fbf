package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/system/nearest"
)

// maxErrors is how many mistakes a message shows.
const maxErrors = 20

// Error is one mistake and where it stands.
type Error struct {
	File         string
	Line, Column int // from 1
	Msg          string
}

// Error formats the mistake as file:line:col: message.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// ErrorList is all the mistakes of a file, in the order of their positions.
type ErrorList []Error

// Error lists the first 20 mistakes, one a line.
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
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// unknown says that name is none of allowed: what it probably should be, or all
// that it could be.
func unknown(what, name string, allowed []string) string {
	if near := nearest.Of(name, allowed); near != "" {
		return fmt.Sprintf("unknown %s %q (did you mean %q?)", what, name, near)
	}
	return fmt.Sprintf("unknown %s %q; allowed: %s", what, name, strings.Join(allowed, ", "))
}
