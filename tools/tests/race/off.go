//go:build !race

// Package race tells tests whether they are built with the race detector. Programs are then about ten times
// slower and use several times the memory.
package race

// On reports whether the program was built with the race detector.
const On = false

// Rounds is how many of some rounds a test makes that tries much at random: a quarter under the
// race detector, which sees two unordered accesses whatever came of them, and needs no rare case.
func Rounds(n int) int { return n }
