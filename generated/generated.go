// Package generated is the registry of the compiled bundles. Every folder below
// it is written by mlagen from the spec of the same name in specs/, and holds all its bundles.
package generated

import "mla/runtime/plan"

//go:generate go run mla/cmd/mlagen -all

// Bundles lists every compiled model, by spec. Those of specs/reference.txt come last, and
// are not there with the build tag release.
func Bundles() []*plan.Bundle { return bundles }
