package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNearest checks that nearest finds the first entry at the least distance, as a search of all entries does.
// The values include ones midway between two levels, NaN and infinity.
func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, b := range CodeBooks() {
		for n := range 200 {
			x := make([]float32, b.Group)
			for i := range x {
				switch l := float32(b.levels[rng.IntN(len(b.levels))]); n % 4 {
				case 0:
					x[i] = l // an entry or close to an entry
				case 1:
					x[i] = (l + float32(b.levels[rng.IntN(len(b.levels))])) / 2
				default:
					x[i] = float32(rng.NormFloat64()) * float32(b.levels[len(b.levels)-1])
				}
			}
			if n%50 == 7 {
				x[rng.IntN(b.Group)] = []float32{float32(math.NaN()), float32(math.Inf(1)), 1e30}[n/50%3]
			}
			shift := []float32{0, iq1Shift, -iq1Shift}[n%3]
			want, least := 0, float32(b.Group)*1e30
			for i, v := range b.Values() {
				var sum float32
				for _, f := range x {
					e := f - shift - float32(int8(v))
					sum += float32(e * e)
					v >>= 8
				}
				if sum < least {
					want, least = i, sum
				}
			}
			if got, distance := b.nearest(x, shift); got != want || distance != least {
				t.Fatalf("%s: entry %d at %g for %g less %g; want %d at %g", b.Name, got, distance, x, shift, want, least)
			}
		}
	}
}
