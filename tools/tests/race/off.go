//go:build !race

// Package race tells tests whether the race detector watches: programs are then some ten
// times slower, and use several times the memory.
package race

// On says that the race detector watches.
const On = false
