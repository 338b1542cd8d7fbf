// Package reserved has the words that Metal's shading language and its library use. Metal's headers are not
// available here. Without these lists, a name that clashes with a macro, a keyword or a function of theirs
// would be noticed only on a Mac, where it breaks every bundle.
package reserved

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed anywhere.txt library.txt
var files embed.FS

// List is a set of names and of prefixes of names.
type List struct {
	names    map[string]bool
	prefixes []string
}

// Anywhere returns the words that no declaration may use.
var Anywhere = sync.OnceValue(func() *List { return read("anywhere.txt") })

// Library returns the names that no declaration at namespace scope may use.
var Library = sync.OnceValue(func() *List { return read("library.txt") })

// Has reports whether a name is in the list.
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
