package device

import (
	"fmt"

	"mla/runtime/plan"
)

// CheckRow fails for a row that a Runner with a vocabulary and a context of that many
// tokens cannot run: a token or a position that it does not have, or another number of
// cache rows than that of the positions up to this one.
func CheckRow(s plan.Row, vocab, context int) error {
	switch {
	case uint64(s.Token) >= uint64(vocab):
		return fmt.Errorf("token %d of a vocabulary of %d", s.Token, vocab)
	case uint64(s.Pos) >= uint64(context):
		return fmt.Errorf("position %d does not fit a context of %d tokens", s.Pos, context)
	case uint64(s.NKV) != uint64(s.Pos)+1:
		return fmt.Errorf("%d cache rows at position %d; expected %d", s.NKV, s.Pos, uint64(s.Pos)+1)
	}
	return nil
}
