// Package sim holds what stands in for Metal where there is none: exec compiles
// Metal source for the CPU and runs it, metal is a library with Metal's classes.
// Both are C++; this package only carries the sources of exec, for those that build
// them.
package sim

import "embed"

// Exec is the folder exec.
//
//go:embed exec
var Exec embed.FS
