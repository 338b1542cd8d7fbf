//go:build !race

// Package race tells tests whether they are built with the race detector. Programs are then about ten times
// slower and use several times the memory.
package race

// On reports whether the program was built with the race detector.
const On = false
