// Package reserved has the words that Metal's shading language and its library use. There is
// no copy of Metal's headers here: a name that meets one of theirs, as a macro, a keyword
// or in an ambiguous use, would be seen first on a Mac, where it breaks every bundle.
package reserved

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed anywhere.txt library.txt
var files embed.FS

// A List is a set of names, some of them by how they begin.
type List struct {
	names    map[string]bool
	prefixes []string
}

// Anywhere are the words that nothing may be called, wherever it is declared.
var Anywhere = sync.OnceValue(func() *List { return read("anywhere.txt") })

// Library are the names that nothing at the scope of a namespace may have.
var Library = sync.OnceValue(func() *List { return read("library.txt") })

// Has says whether a name is in the list.
func (l *List) Has(name string) bool {
	if l.names[name] {
		return true
	}
	for _, p := range l.prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func read(file string) *List {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("reserved: the embedded %s cannot be read: %v", file, err))
	}
	l := &List{names: map[string]bool{}}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.Fields(line) {
			if start, prefix := strings.CutSuffix(word, "*"); prefix {
				l.prefixes = append(l.prefixes, start)
			} else {
				l.names[word] = true
			}
		}
	}
	return l
}
