//go:build !race

// Package race tells tests whether the race detector watches: programs are then some ten
// times slower, and use several times the memory.
package race

// On says that the race detector watches.
const On = false

// Rounds is how many of some rounds a test makes that tries much at random: a quarter under the
// race detector, which sees two unordered accesses whatever came of them, and needs no rare case.
func Rounds(n int) int { return n }
