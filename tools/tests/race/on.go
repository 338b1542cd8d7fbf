//go:build race

package race

// On says that the race detector watches.
const On = true

// Rounds is how many of some rounds a test makes; see off.go.
func Rounds(n int) int { return n / 4 }
