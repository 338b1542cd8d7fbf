package check

import (
	"math"
	"testing"

	"mla/runtime/text/sample"
)

// drawn is the token that a seed draws from equal logits, after some others.
func drawn(t *testing.T, vocab int, seed uint64, draw int) int {
	t.Helper()
	p := sample.Off()
	p.Temperature, p.Seed = 1, seed
	s, err := sample.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for range draw {
		s.Skip()
	}
	logits := make([]float32, vocab)
	logitKinds[allEqual](nil, logits)
	return int(s.Next(logits))
}

// TestEdges draws from equal logits: the least number meets the first token, the greatest
// one the last. At an edge between tokens one number less meets the token before.
func TestEdges(t *testing.T) {
	for vocab, token := range map[int]int{2: 1, 40: 32, 256: 128, 257: 256, 300: 256, 1025: 1024, 9000: 8192, 131300: 131072} {
		edge, random := edgeOf(vocab)
		if edge != token {
			t.Errorf("vocabulary of %d: the edge is token %d; expected %d", vocab, edge, token)
		}
		for number, want := range map[uint64]int{0: 0, math.MaxUint64: vocab - 1, random: token, random - 1: token - 1} {
			for _, draw := range []int{0, allEqual} {
				if got := drawn(t, vocab, seedOf(number, uint64(draw)), draw); got != want {
					t.Errorf("vocabulary of %d, draw %d of number %#x: token %d; expected %d", vocab, draw, number, got, want)
				}
			}
		}
	}
}
