//go:build deep

package main

import (
	"testing"
)

// TestManyHeads has more heads than the default attention has registers for.
func TestManyHeads(t *testing.T) {
	for _, heads := range []int{33, 128} {
		s := small(deepseek(t))
		s.Model.NumAttentionHeads, s.Model.KVLoraRank = heads, 512
		compareFile(t, synthFile(t, s, "q4_0", 1), s)
	}
}
