package device

import (
	"fmt"

	"mla/runtime/plan"
)

// CheckRows fails for rows that a Runner cannot run in one replay: no rows, more than width, or a row that
// CheckRow refuses.
func CheckRows(rows []plan.Row, width, vocab, context int) error {
	if len(rows) < 1 || len(rows) > width {
		return fmt.Errorf("%d rows at a time; expected 1 to %d", len(rows), width)
	}
	for i, r := range rows {
		if err := CheckRow(r, vocab, context); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// CheckWanted fails unless wanted lists rows of a replay of that many rows, rising, and at most as many as a
// Runner with batches of up to batch rows computes logits for.
func CheckWanted(wanted []int, rows, batch int) error {
	if most := plan.WantedRows(rows, batch); len(wanted) > most {
		return fmt.Errorf("the logits of %d rows are wanted; expected at most %d", len(wanted), most)
	}
	before := -1
	for _, i := range wanted {
		if i <= before || i >= rows {
			return fmt.Errorf("the logits of row %d are wanted after row %d, of %d", i, before, rows)
		}
		before = i
	}
	return nil
}

// Wanted appends the contents of SpaceWanted: the wanted rows, with their places in SpaceRow as Token.
func Wanted(to []plan.Row, rows []plan.Row, wanted []int) []plan.Row {
	for _, i := range wanted {
		row := rows[i]
		row.Token = uint32(i)
		to = append(to, row)
	}
	return to
}

// All lists 0 to n-1: all of n rows are wanted, at most plan.LargestBatch.
func All(n int) []int { return first[:n:n] }

// AllIf is All if logits are wanted, else nil.
func AllIf(logits bool, n int) []int {
	if !logits {
		return nil
	}
	return All(n)
}

var first = func() (list [plan.LargestBatch]int) {
	for i := range list {
		list[i] = i
	}
	return list
}()

// CheckRow fails for a row that a Runner with a vocabulary and a context of the given numbers of tokens
// cannot run: the token or the position is out of range, or NKV is not the number of positions up to this
// one.
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
