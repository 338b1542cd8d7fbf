package device

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/plan"
)

// MaxAhead is how many steps of a Picker can be ahead of the host.
const MaxAhead = plan.PickTurns

// Loop keeps count of the steps that a Picker makes ahead of the host: of those after the
// last Pick that were asked for, and of those whose tokens were returned. It calls the
// device where Picker's methods need it. The zero value is one without a Pick.
type Loop struct {
	vocab, context int
	tables         *Tables

	rows     []plan.Row // of the last Pick; none: there is nothing to go on with
	picks    []Pick
	asked    int           // steps after the last Pick
	returned int           // of those
	units    [MaxAhead]int // by turn: the slot of the unit that makes the step
}

// NewLoop is the Loop of a runner with a vocabulary and a context of that many tokens, that
// has picked nothing yet.
func NewLoop(vocab, context int, tables *Tables) Loop {
	return Loop{vocab: vocab, context: context, tables: tables}
}

// Begin is called after every Pick.
func (l *Loop) Begin(rows []plan.Row, picks []Pick) {
	l.rows, l.picks, l.asked, l.returned = append(l.rows[:0], rows...), append(l.picks[:0], picks...), 0, 0
}

// Forget is called before whatever else is run.
func (l *Loop) Forget() { l.rows = l.rows[:0] }

// Rows is how many rows go on.
func (l *Loop) Rows() int { return len(l.rows) }

// InFlight says whether tokens are yet to be returned.
func (l *Loop) InFlight() bool { return len(l.rows) > 0 && l.asked > l.returned }

// Continue does what Picker.Continue says. submit hands the device n steps as the unit of a
// slot of its queue; if it fails, they count as not asked for.
func (l *Loop) Continue(n, slot int, submit func() error) error {
	switch {
	case len(l.rows) == 0:
		return errors.New("there was no pick after rows")
	case len(l.picks) != len(l.rows) || slices.ContainsFunc(l.picks, func(p Pick) bool { return p.LogitsOnly }):
		return fmt.Errorf("%d rows, and the device picked after fewer", len(l.rows))
	case n < 1 || n > MaxAhead-(l.asked-l.returned):
		return fmt.Errorf("%d more steps ahead of %d; expected 1 or more, and at most %d in all", n, l.asked-l.returned, MaxAhead)
	}
	for _, row := range l.rows {
		pos := uint64(row.Pos) + uint64(l.asked) + uint64(n)
		if pos >= min(uint64(l.context), math.MaxUint32) {
			return fmt.Errorf("%d steps after position %d do not fit a context of %d tokens", l.asked+n, row.Pos, l.context)
		}
		row.Pos, row.NKV = uint32(pos), uint32(pos)+1 // of the last step; those before have pages if it has
		if err := errors.Join(CheckRow(row, l.vocab, l.context), l.tables.Check(row)); err != nil {
			return err
		}
	}
	if err := submit(); err != nil {
		return err
	}
	for range n {
		l.asked++
		l.units[l.asked%MaxAhead] = slot
	}
	return nil
}

// Next does what Picker.Next says. wait waits for the unit in a slot; tokens are what the
// device left at a turn, which is cleared.
func (l *Loop) Next(wait func(slot int) error, tokens func(turn int) []uint32) ([]int32, error) {
	if !l.InFlight() {
		return nil, errors.New("no step is under way whose tokens were not returned")
	}
	turn := (l.returned + 1) % MaxAhead
	if err := wait(l.units[turn]); err != nil {
		return nil, err
	}
	l.returned++
	there := tokens(turn)
	picked, err := Picked(l.picks, there, l.vocab)
	for i := range there { // nobody takes them for those of a later step
		there[i] = plan.SampleNone
	}
	return picked, err
}
