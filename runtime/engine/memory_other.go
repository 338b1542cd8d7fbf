//go:build !linux && !darwin

package engine

// Available is 0, which means unknown: these systems are not supported.
func Available() int64 { return 0 }
