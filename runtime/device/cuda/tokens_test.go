package cuda

import "testing"

// TestTokensOfProfile checks that the rows differ. Equal rows would all select the same experts.
func TestTokensOfProfile(t *testing.T) {
	for _, c := range []struct{ vocab, rows int }{{2048, 512}, {154880, 4096}} {
		r, seen := &runner{vocab: c.vocab}, map[uint32]bool{}
		for position := range c.rows {
			token := r.tokenAt(position)
			if int(token) >= c.vocab || seen[token] {
				t.Fatalf("token %d at position %d, of %d, seen before: %t", token, position, c.vocab, seen[token])
			}
			seen[token] = true
		}
	}
}
