package device

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"mla/runtime/plan"
)

// Picker is a Runner that can pick tokens after rows of several sessions, and run what it
// picked: the host gets ids in place of logits, and need not take part in every step.
//
//	Pick(rows, picks)  Continue(4)  Continue(4)  Next  Next  Next  Next  Continue(4)  …
type Picker interface {
	Runner
	// Pick runs rows as Replay does, with those of picks wanted, picks a token for each
	// and returns them: -1 where none could be picked. It fails with ErrSampling, and runs nothing, if the
	// device has no kernels for it.
	Pick(rows []plan.Row, picks []Pick) ([]int32, error)
	// PickedLogits are the logits of the i-th of the last Pick, [VocabSize], valid until
	// the next Replay or Pick.
	PickedLogits(i int) ([]float32, error)
	// Continue makes n more steps as one unit of work. A step runs the rows of the last Pick
	// once more, each as that of the token that was picked after it, one position on, and
	// picks after them as the samplers would: with the next draw, and otherwise as before.
	// Pick must have picked after all of its rows. Continue waits for nothing but a free slot; at
	// most MaxAhead steps can be under way. Where no token could be picked the row stays what
	// it was. A Pick or a Replay forgets what is under way; cache rows that it has written
	// stay, to be overwritten.
	Continue(n int) error
	// Next waits for the first step whose tokens it has not returned, and returns those, in
	// the order of the picks: -1 where none could be picked.
	Next() ([]int32, error)
}

// Pick is after which row a token is picked, and how.
type Pick struct {
	Row           int  // which of the rows that are run; picks are in the order of theirs
	LogitsOnly    bool // nothing is picked: PickedLogits is asked for it
	plan.Sampling      // Picked is 0
	Adjusts       []plan.Adjust
	Mask          []uint32 // which tokens may be picked, a bit each; nil: all
}

// Pick is a pick with the sampler's parameters and state after a row, for a vocabulary of
// a given number of tokens. It fails with ErrSampling if that is beyond the kernels.
func (s *Sampling) Pick(row, vocab int) (Pick, error) {
	p := Pick{Row: row, Sampling: s.Sampling, Mask: s.Mask}
	add := func(a plan.Adjust) {
		if uint64(a.Token) < uint64(vocab) { // what was negative is not, either
			p.Adjusts = append(p.Adjusts, a)
		}
	}
	for _, id := range s.Recent {
		add(plan.Adjust{Token: uint32(id), Count: 1})
	}
	for _, b := range s.Biases {
		add(plan.Adjust{Token: uint32(b.Token), Bias: b.Add})
	}
	p.Adjusts = merged(p.Adjusts)
	if len(p.Adjusts) > plan.PickAdjusts {
		return p, fmt.Errorf("%w: %d recent and biased tokens; at most %d", ErrSampling, len(p.Adjusts), plan.PickAdjusts)
	}
	return p, nil
}

// merged sorts adjustments, and makes one of those of a token.
func merged(list []plan.Adjust) []plan.Adjust {
	slices.SortFunc(list, func(a, b plan.Adjust) int { return cmp.Compare(a.Token, b.Token) })
	out := list[:0]
	for _, a := range list {
		if n := len(out); n > 0 && out[n-1].Token == a.Token {
			out[n-1].Count += a.Count
			out[n-1].Bias += a.Bias
			continue
		}
		out = append(out, a)
	}
	return out
}

// After is the sampler's state once a token was picked and accepted; nil if that is not
// known here, as the mask is another one then.
func (s *Sampling) After(token int32) *Sampling {
	if s.Mask != nil {
		return nil
	}
	next := *s
	next.Draw++
	switch {
	case s.Window == 0:
	case s.Window == WindowAll:
		next.Recent = append(slices.Clip(s.Recent), token)
	default:
		first := max(0, len(s.Recent)+1-int(s.Window))
		next.Recent = append(slices.Clone(s.Recent[first:]), token)
	}
	return &next
}

// CheckPicks fails for picks that no Picker with batches of batch rows can make after a given number of rows.
func CheckPicks(picks []Pick, rows, batch int) error {
	if len(picks) == 0 {
		return errors.New("nothing to pick")
	}
	for i := range picks {
		if n := len(picks[i].Adjusts); n > plan.PickAdjusts {
			return fmt.Errorf("%w: %d adjustments; at most %d", ErrSampling, n, plan.PickAdjusts)
		}
	}
	return CheckWanted(PickedRows(picks), rows, batch)
}

// PickedRows are the rows after which tokens are picked.
func PickedRows(picks []Pick) []int {
	rows := make([]int, len(picks))
	for i := range picks {
		rows[i] = picks[i].Row
	}
	return rows
}

// WritePicks fills the memory of SpacePick that the host fills, dst, with picks that were
// checked, and returns how much of it that is: bytes from its beginning on, and bytes of
// masks from PickLayout.Masks on.
func WritePicks(dst []byte, l *plan.PickLayout, picks []Pick, vocab int) (bytes, masks int) {
	var list [plan.LargestBatch]plan.Pick
	at := uint32(0)
	for i := range l.Rows {
		list[i].Row = plan.PickNone
		if i >= len(picks) || picks[i].LogitsOnly {
			continue
		}
		p := &picks[i]
		list[i] = plan.Pick{Sampling: p.Sampling, Row: uint32(i), Place: uint32(p.Row), First: at, Entries: uint32(len(p.Adjusts)), Mask: plan.PickNone}
		list[i].Picked = 0
		if p.Mask != nil {
			list[i].Mask = uint32(masks / 4)
			masks += writeMask(dst[l.Masks+int64(masks):], p.Mask, plan.MaskWords(vocab))
		}
		copy(dst[l.Adjusts+plan.AdjustBytes*int64(at):], raw(p.Adjusts))
		at += uint32(len(p.Adjusts))
	}
	copy(dst, raw(list[:l.Rows]))
	return int(l.Adjusts) + plan.AdjustBytes*int(at), masks
}

// writeMask writes the words of a mask, which allows no tokens after its end.
func writeMask(dst []byte, mask []uint32, words int) (bytes int) {
	n := copy(dst[:4*words], raw(mask))
	clear(dst[n : 4*words])
	return 4 * words
}

// raw views structs without padding, whose numbers are as devices read them.
func raw[T plan.Pick | plan.Adjust | uint32](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// PickTurn are the tokens that a device left at a turn of PickLayout.Tokens, which memory
// begins with, for a number of rows (PickLayout.Rows).
func PickTurn(memory []byte, turn, rows int) []uint32 {
	all := unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), plan.PickTurns*rows)
	return all[turn*rows:][:rows]
}

// Picked are the tokens of picks, of those of a turn: -1 if there is none.
func Picked(picks []Pick, tokens []uint32, vocab int) ([]int32, error) {
	out := make([]int32, len(picks))
	for i, t := range tokens[:len(picks)] {
		switch {
		case picks[i].LogitsOnly, t == plan.SampleNone:
			out[i] = -1
		case uint64(t) >= uint64(vocab):
			return nil, fmt.Errorf("the GPU picked token %d of a vocabulary of %d", t, vocab)
		default:
			out[i] = int32(t)
		}
	}
	return out, nil
}
