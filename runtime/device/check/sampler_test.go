package check

import (
	"testing"

	"mla/runtime/sample"
)

// TestSeedsAtTheEdges draws from many equal logits: the least number meets the first
// token, the greatest one the last.
func TestSeedsAtTheEdges(t *testing.T) {
	const vocab = 10000
	for seed, want := range map[uint64]int32{seedOfLeast: 0, seedOfGreatest: vocab - 1} {
		p := sample.Off()
		p.Temperature, p.Seed = 1, seed
		s, err := sample.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Next(make([]float32, vocab)); got != want {
			t.Errorf("seed %#x: token %d; expected %d", seed, got, want)
		}
	}
}
