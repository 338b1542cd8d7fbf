//go:build !deep

// Package deep tells tests which tier they belong to. `make test` runs the fast tier: one
// example of every proof. `make prove` builds with the tag deep and runs all examples.
//
// A test of the deep tier only is in a file with the build tag. A test of both tiers that runs more examples
// in the deep one tests On.
package deep

// On reports whether the deep tier runs.
const On = false
