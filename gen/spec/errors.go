package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// ErrorList is all the mistakes of a spec and its tuning files, by file and position.
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
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// unknown says that name is none of allowed: what it probably should be, or all
// that it could be.
func unknown(what, name string, allowed []string) string {
	if near := nearMiss(name, allowed); near != "" {
		return fmt.Sprintf("unknown %s %q (did you mean %q?)", what, name, near)
	}
	return fmt.Sprintf("unknown %s %q; allowed: %s", what, name, strings.Join(allowed, ", "))
}

// nearMiss returns the first candidate that name is the beginning of, else the
// one closest to it, or "" if none is close.
func nearMiss(name string, candidates []string) string {
	const longest = 64 // of a name worth correcting; keeps the distance cheap
	if len(name) > longest {
		return ""
	}
	const shortest = 3 // of a beginning that says enough
	for _, c := range candidates {
		if len(name) >= shortest && strings.HasPrefix(c, strings.ToLower(name)) {
			return c
		}
	}
	best, bestDistance := "", 1+max(1, len(name)/3)
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
