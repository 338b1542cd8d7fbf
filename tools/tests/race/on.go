//go:build race

package race

// On reports whether the program was built with the race detector.
const On = true

// Rounds returns how many of n random rounds a test runs; see off.go.
func Rounds(n int) int { return n / 4 }
