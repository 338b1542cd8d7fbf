package device

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/plan"
)

// MaxAhead is the most steps of a Picker that can be in flight.
const MaxAhead = plan.PickTurns

// Loop keeps the counts of a Picker's steps after the last Pick: of those that were submitted, and of those
// whose tokens were returned. Its methods implement the methods of Picker and call back for the work of the
// device. The zero value is a Loop without a Pick.
type Loop struct {
	vocab, context int
	tables         *Tables

	rows     []plan.Row // of the last Pick; none: there is no Pick to continue
	picks    []Pick
	asked    int           // steps submitted after the last Pick
	returned int           // steps whose tokens were returned
	units    [MaxAhead]int // by turn: the queue slot of the unit of work that makes the step
}

// NewLoop returns the Loop of a runner with a vocabulary and a context of the given numbers of tokens,
// without a Pick.
func NewLoop(vocab, context int, tables *Tables) Loop {
	return Loop{vocab: vocab, context: context, tables: tables}
}

// Begin must be called after every Pick.
func (l *Loop) Begin(rows []plan.Row, picks []Pick) {
	l.rows, l.picks, l.asked, l.returned = append(l.rows[:0], rows...), append(l.picks[:0], picks...), 0, 0
}

// Forget must be called before anything else is run.
func (l *Loop) Forget() { l.rows = l.rows[:0] }

// Rows is the number of rows of the last Pick.
func (l *Loop) Rows() int { return len(l.rows) }

// InFlight says whether there are steps whose tokens were not returned.
func (l *Loop) InFlight() bool { return len(l.rows) > 0 && l.asked > l.returned }

// Continue implements Picker.Continue. submit hands n steps to the device, as the unit of work in a slot of
// its queue. If it fails, the steps do not count.
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
		row.Pos, row.NKV = uint32(pos), uint32(pos)+1 // of the last step: if its position has a page, so have all positions before it
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

// Next implements Picker.Next. wait waits for the unit of work in a slot. tokens returns the tokens that the
// device has written for a turn; Next clears them.
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
	for i := range there { // so that a later step that picks none does not return these
		there[i] = plan.SampleNone
	}
	return picked, err
}
