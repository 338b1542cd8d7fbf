//go:build race

package race

// On says that the race detector watches.
const On = true
