// Package mtl is a thin typed binding of the part of Metal that the runtime uses, without cgo. On macOS it
// opens Apple's frameworks; on other systems, a replacement library that the caller names.
//
// selectors.go lists every message with its types; messages.go declares the Go side of each. Load compares
// the two and registers one Go function per signature before any message is sent. An Objective-C exception
// ends the process, so callers check versions and limits first.
//
// Objects follow Cocoa's ownership rule: the caller must release an object from a New function. Other objects
// are valid until the surrounding pool ends (see [Pool]).
package mtl
