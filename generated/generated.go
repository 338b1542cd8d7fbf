// Package generated is the registry of the compiled bundles. Every folder below
// it is written by mlagen from the spec of the same name in specs/, and holds all its bundles.
// Their Metal sources lie there without what they share, the library.
package generated

import (
	_ "embed"
	"sync"

	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

//go:generate go run mla/cmd/mlagen -all

//go:embed library.metal
var library string

// Bundles lists every compiled model, by spec. Those of specs/reference.txt come last, and
// are not there with the build tag release.
func Bundles() []*plan.Bundle {
	whole()
	return bundles
}

// whole gives the bundles their whole sources. Bundles of one spec go on to share one.
var whole = sync.OnceFunc(func() {
	l, err := pieces.ParseLibrary(library)
	if err != nil {
		panic(err) // of a file in the program
	}
	known := map[string]string{}
	for _, b := range bundles {
		if b.Source == "" {
			continue
		}
		if known[b.Source] == "" {
			if known[b.Source], err = l.Whole(b.Source); err != nil {
				panic(err)
			}
		}
		b.Source = known[b.Source]
	}
})
