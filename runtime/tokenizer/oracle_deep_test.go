//go:build deep

package tokenizer

import (
	"math/rand/v2"
	"testing"
)

func TestPreTokenizersAgreeOnRandomText(t *testing.T) {
	o, sc := newOracle(t), new(scanner)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		o.compare(t, sc, randomText(r, 1+r.IntN(24)))
		if t.Failed() {
			return
		}
	}
}
