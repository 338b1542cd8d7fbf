//go:build race

package race

// On reports whether the program was built with the race detector.
const On = true

// Rounds is how many of some rounds a test makes; see off.go.
func Rounds(n int) int { return n / 4 }
