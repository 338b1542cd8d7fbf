//go:build !race

// Package race tells tests whether they are built with the race detector. Programs are then about ten times
// slower and use several times the memory.
package race

// On reports whether the program was built with the race detector.
const On = false

// Rounds returns how many of n random rounds a test runs: all, or a quarter under the race detector. The
// race detector reports two unordered accesses even where they did no harm, so it needs no rare case.
func Rounds(n int) int { return n }
