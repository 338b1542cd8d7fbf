package metal

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// unit is a unit of work of the queue: its command buffers, or for pieces that have ended, the GPU time they
// took.
type unit struct {
	commands  []mtl.Commands
	pace      *pace         // the pace that has predicted the unit; nil: it is not updated
	predicted time.Duration // for the whole unit
	took      time.Duration
}

// mostSubmitted is the most command buffers that a unit has in flight. A queue holds 64 (rule 12).
const mostSubmitted = 64 / (ring + 1)

// waitLimit is the time after which the GPU counts as stuck. The system ends long commands much earlier.
var waitLimit = 5 * time.Minute

// commit submits a number of steps as the next unit. Each step is runs of the sequence for rows, in a
// sequence of a given width. Work of many rows may take long, so it is run piece by piece. A step of few rows
// is not cut, but a command buffer gets only as many steps as fit its budget.
func (r *runner) commit(slot int, step []run, steps int, rows []plan.Row, width int) error {
	u, together := unit{}, steps
	switch {
	case width >= r.bundle.BatchRows():
		runs := slices.Repeat(step, steps)
		u.pace, u.predicted = &r.pace, newCutting(r.sequence, &r.pace, rows, width, r.tables, runs).all()
		if width > r.bundle.BatchRows() || u.predicted > r.pace.buffer() {
			return r.pieces(slot, runs, rows, width)
		}
	case steps > 1:
		one := newCutting(r.sequence, &r.stepPace, rows, width, r.tables, step).all()
		u.pace, u.predicted = &r.stepPace, time.Duration(steps)*one
		together = max(int(r.stepPace.buffer()/max(one, 1)), 1)
	}
	for ; steps > 0; steps -= together {
		commands, err := r.encode(slot, piece{runs: slices.Repeat(step, min(steps, together))})
		if err == nil {
			u.commands = append(u.commands, commands)
			err = r.allEnded(&u, mostSubmitted)
		}
		if err != nil {
			return r.abandon(&u, err)
		}
	}
	r.commands[r.units.Next()] = u
	r.units.Submit()
	return nil
}

// abandon waits for the submitted part of a unit that could not be submitted completely. If there is such a
// part, the caches are invalid, and all later units fail.
func (r *runner) abandon(u *unit, err error) error {
	if len(u.commands) == 0 && u.took == 0 {
		return err
	}
	_ = r.allEnded(u, 0) // err came first
	return r.units.Fail(r.ofTime(err))
}

// ofTime is explained for an error that tooLong has not seen yet.
func (r *runner) ofTime(err error) error {
	if r.units.Failed() == nil && r.tooLong(err) { // a later failure must not halve the budget again
		return r.explained(err)
	}
	return err
}

// pieces runs a unit piece by piece. Each piece ends before the next begins, so no long command buffer waits
// for another, and each piece's time improves the prediction for the next. If the system ends a piece because
// it took too long, the whole unit runs once more, in shorter pieces, on a GPU opened anew, from its saved
// memory.
func (r *runner) pieces(slot int, runs []run, rows []plan.Row, width int) error {
	if err := r.units.Drain(); err != nil {
		return err
	}
	r.remember(slot, rows)
	took, err := r.runPieces(slot, newCutting(r.sequence, &r.pace, rows, width, r.tables, runs))
	for r.tooLong(err) && !r.rebuilt {
		r.rebuilt = true
		if failed := r.rebuild(slot, rows); failed != nil {
			err = errors.Join(err, failed)
			break
		}
		var again time.Duration
		again, err = r.runPieces(slot, newCutting(r.sequence, &r.pace, rows, width, r.tables, runs))
		took += again
	}
	if err != nil {
		return r.units.Fail(r.explained(err))
	}
	next := r.units.Next() // not the slot of the rows, in case these continue
	r.commands[next] = unit{took: took}
	r.units.Submit()
	return r.units.Wait(next)
}

// runPieces runs all pieces, and returns the GPU time.
func (r *runner) runPieces(slot int, c *cutting) (took time.Duration, err error) {
	for p, ok := c.next(); ok; p, ok = c.next() {
		one, err := r.runPiece(slot, p)
		if err != nil {
			return took, err
		}
		r.pace.measured(p.predicted, one)
		took += one
	}
	return took, nil
}

// runPiece runs a piece in an autorelease pool of its own, so that all of its temporary objects are released.
func (r *runner) runPiece(slot int, p piece) (took time.Duration, err error) {
	err = mtl.Pool(func() error {
		commands, err := r.encode(slot, p)
		if err != nil {
			return err
		}
		took, err = r.ended(commands)
		return err
	})
	return took, err
}

// encode creates a command buffer for a piece and commits it.
func (r *runner) encode(slot int, p piece) (mtl.Commands, error) {
	commands, err := r.queue.NewCommands()
	if err != nil {
		return commands, err
	}
	encoder, err := commands.Encoder()
	if err != nil {
		commands.Release()
		return commands, err
	}
	switch {
	case p.slice != nil: // no command in flight reads the memory that setSlice writes
		r.setSlice(p.slice)
		(&direct{r.sequence, r.memory, r.pipelines}).encode(encoder, sliceSlot, p.runs)
	case p.runs[0].to > p.runs[0].from:
		r.replayer.encode(encoder, slot, p.runs)
	}
	encoder.End()
	commands.Commit()
	r.heartbeat.touch()
	return commands, nil
}

// setSlice writes the rows or pages of a slice, which its command reads in place of the unit's.
func (r *runner) setSlice(s *slice) {
	r.writeRows(sliceSlot, s.rows, nil)
	if s.pages != nil {
		r.tables.WriteSpare(r.memory.Spaces[plan.SpaceTables].Bytes(), s.pages)
	}
}

// ended waits for a command buffer, releases it, and returns the GPU time. A stuck command buffer is not
// released.
func (r *runner) ended(commands mtl.Commands) (took time.Duration, err error) {
	err = commands.Wait(waitLimit, r.late)
	if errors.As(err, new(*mtl.StuckError)) {
		r.stuck = true
		return 0, gone{err}
	}
	if err == nil {
		took = seconds(commands.Seconds())
	}
	commands.Release()
	return took, err
}

// wait waits for the unit in a slot.
func (r *runner) wait(slot int) (took time.Duration, err error) {
	u := &r.commands[slot]
	if err := r.allEnded(u, 0); err != nil {
		return u.took, r.ofTime(err)
	}
	if u.pace != nil {
		u.pace.measured(u.predicted, u.took)
	}
	took = u.took
	r.saving.begin()
	*u = unit{}
	return took, nil
}

// allEnded waits for the command buffers of a unit, except the last but ones, and adds up their GPU time. It
// returns the first error.
func (r *runner) allEnded(u *unit, but int) (err error) {
	for len(u.commands) > but {
		if r.stuck { // by an earlier command buffer
			return gone{&mtl.StuckError{After: waitLimit}}
		}
		took, failed := r.ended(u.commands[0])
		u.commands = u.commands[1:]
		if u.took += took; err == nil {
			err = failed
		}
	}
	return err
}
