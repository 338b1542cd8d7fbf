package device

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// PicksAhead keeps count of the steps that a Picker makes ahead of the host: of those behind
// the last Pick that were asked for, and of those whose tokens were returned. It calls the
// device where Picker's methods need it. The zero value is one without a Pick.
type PicksAhead struct {
	vocab, context int
	tables         *Tables

	rows     []plan.Row // of the last Pick; none: there is nothing to go on with
	picks    []Pick
	asked    int // steps behind it
	returned int // of those
}

// NewPicksAhead is the PicksAhead of a runner with a vocabulary and a context of that many
// tokens, that has picked nothing yet.
func NewPicksAhead(vocab, context int, tables *Tables) PicksAhead {
	return PicksAhead{vocab: vocab, context: context, tables: tables}
}

// Begin is called behind every Pick.
func (a *PicksAhead) Begin(rows []plan.Row, picks []Pick) {
	a.rows, a.picks, a.asked, a.returned = append(a.rows[:0], rows...), append(a.picks[:0], picks...), 0, 0
}

// Forget is called before whatever else is run.
func (a *PicksAhead) Forget() { a.rows = a.rows[:0] }

// Rows is how many rows go on.
func (a *PicksAhead) Rows() int { return len(a.rows) }

// InFlight says whether tokens are yet to be returned.
func (a *PicksAhead) InFlight() bool { return len(a.rows) > 0 && a.asked > a.returned }

// Ask does what Picker.PickAhead says. submit hands the device the step whose tokens go to a
// turn of PickLayout.Tokens; if it fails, the step counts as not asked for.
func (a *PicksAhead) Ask(submit func(turn int) error) error {
	switch {
	case len(a.rows) == 0:
		return errors.New("no rows were picked behind")
	case len(a.picks) != len(a.rows) || slices.ContainsFunc(a.picks, func(p Pick) bool { return p.LogitsOnly }):
		return fmt.Errorf("%d rows, of which the device picked behind fewer", len(a.rows))
	case a.asked-a.returned == plan.PickTurns:
		return fmt.Errorf("%d steps ahead, whose tokens were not asked for; expected fewer", plan.PickTurns)
	}
	for _, row := range a.rows {
		row.Pos += uint32(a.asked + 1)
		row.NKV = row.Pos + 1
		if err := errors.Join(CheckRow(row, a.vocab, a.context), a.tables.Check(row)); err != nil {
			return err
		}
	}
	if err := submit((a.asked + 1) % plan.PickTurns); err != nil {
		return err
	}
	a.asked++
	return nil
}

// Next does what Picker.PickedAhead says. wait waits for the step of a turn; tokens are what
// the device left there.
func (a *PicksAhead) Next(wait func(turn int) error, tokens func(turn int) []uint32) ([]int32, error) {
	if !a.InFlight() {
		return nil, errors.New("no step is under way whose tokens were not returned")
	}
	turn := (a.returned + 1) % plan.PickTurns
	if err := wait(turn); err != nil {
		return nil, err
	}
	a.returned++
	return Picked(a.picks, tokens(turn), a.vocab)
}
