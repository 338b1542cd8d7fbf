// Package mtl is a thin typed binding of the part of Metal that the runtime
// uses, without cgo: the same files on macOS, where they talk to Apple's
// frameworks, and elsewhere, where a library that the caller names stands in.
//
// selectors.go lists every message with its types; messages.go declares the Go
// side of each. Load compares the two, registers one Go function per signature,
// and only then is anything sent. An Objective-C exception would end the
// process, so callers check versions and limits first.
//
// Objects follow Cocoa's ownership rule: what comes from a New function must be
// released, the rest lives until the pool around it ends (see [Pool]).
package mtl
