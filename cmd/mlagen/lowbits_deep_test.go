//go:build deep

package main

import "testing"

// TestLowBitsMixed executes the Metal text of one model that has all of the types, with two rows in one batch,
// and in the deep tier with other numbers of them.
func TestLowBitsMixed(t *testing.T) {
	path, ref := lowBitsFile(t, lowBits...)
	compareWidths(t, newExecutor(t), compileFor(t, path, "f32"), ref, []int{1, 2, 16}, lowBitsTolerance)
}
