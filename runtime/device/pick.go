package device

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"mla/runtime/plan"
)

// Picker is a Runner that can pick tokens for rows of several sessions, and then run the picked tokens. The
// host gets ids in place of logits, and need not take part in every step.
//
//	Pick(rows, picks)  Continue(4)  Continue(4)  Next  Next  Next  Next  Continue(4)  …
type Picker interface {
	Runner
	// Pick runs rows as Replay does, with the logits of the picks' rows. It picks a token for each pick and
	// returns the tokens; -1 where none could be picked. If the device has no kernels for a pick, it returns
	// ErrSampling and runs nothing.
	Pick(rows []plan.Row, picks []Pick) ([]int32, error)
	// PickedLogits is the logits of the i-th of the last picks, [VocabSize], valid until the next Replay or
	// Pick.
	PickedLogits(i int) ([]float32, error)
	// Continue submits n more steps as one unit of work. A step runs the rows of the last Pick again: each
	// row has the token that was picked for it, at the next position. It then picks with the next draw and
	// the same parameters. The last Pick must have had a pick for each of its rows. Continue blocks only
	// until a slot of the queue is free. At most MaxAhead steps can be in flight. A row for which no token
	// could be picked stays as it was. A Pick or a Replay drops the results of steps in flight; the cache
	// rows that these have written stay until they are overwritten.
	Continue(n int) error
	// Next waits for the earliest step whose tokens it has not returned, and returns them in the order of the
	// picks; -1 where none could be picked.
	Next() ([]int32, error)
}

// Pick says for which row a token is picked, and how.
type Pick struct {
	Row           int  // index of a row of the replay; rising over the picks
	LogitsOnly    bool // no token is picked: only PickedLogits is used
	plan.Sampling      // Picked is 0
	Adjusts       []plan.Adjust
	Mask          []uint32 // the tokens that may be picked, one bit each; nil: all
}

// Pick converts the sampler's parameters and state to a pick for a row, with a vocabulary of vocab tokens. It
// returns ErrSampling if the kernels do not support them.
func (s *Sampling) Pick(row, vocab int) (Pick, error) {
	p := Pick{Row: row, Sampling: s.Sampling, Mask: s.Mask}
	add := func(a plan.Adjust) {
		if uint64(a.Token) < uint64(vocab) { // as unsigned, a negative token is out of range, too
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

// merged sorts adjustments, and merges those of the same token.
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

// After is the sampler's state once a token has been picked and accepted. It is nil if there is a mask, as
// the mask for the next token is not known here.
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

// CheckPicks fails for picks that no Picker with batches of up to batch rows supports for a given number of
// rows.
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

// PickedRows lists the rows of the picks.
func PickedRows(picks []Pick) []int {
	rows := make([]int, len(picks))
	for i := range picks {
		rows[i] = picks[i].Row
	}
	return rows
}

// WritePicks writes checked picks to dst, the memory of SpacePick. It returns how much it wrote: bytes from
// the beginning of dst on, and bytes of masks from PickLayout.Masks on.
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

// writeMask writes the words of a mask. Tokens after the end of the mask are not allowed.
func writeMask(dst []byte, mask []uint32, words int) (bytes int) {
	n := copy(dst[:4*words], raw(mask))
	clear(dst[n : 4*words])
	return 4 * words
}

// raw views a slice of structs as bytes. The structs have no padding, and host and devices share a byte
// order.
func raw[T plan.Pick | plan.Adjust | uint32](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// PickTurn returns the tokens that a device has written for a turn, for PickLayout.Rows rows. memory begins
// with PickLayout.Tokens.
func PickTurn(memory []byte, turn, rows int) []uint32 {
	all := unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), plan.PickTurns*rows)
	return all[turn*rows:][:rows]
}

// Picked returns the tokens of a turn in the order of the picks; -1 where none was picked.
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
