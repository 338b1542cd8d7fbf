package metal

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// unit is what was handed to the GPU as one: command buffers, or none and how long the GPU took
// for pieces that have ended.
type unit struct {
	commands  []mtl.Commands
	pace      *pace         // which has predicted it; nil: nobody wants to know how good that was
	predicted time.Duration // of all
	took      time.Duration
}

// mostSubmitted is how many command buffers a unit has in flight at most: a queue has room for 64 (rule 12).
const mostSubmitted = 64 / (ring + 1)

// waitLimit is how long a command buffer may take until the GPU counts as stuck. Commands that
// the system ends for their length have ended long before.
var waitLimit = 5 * time.Minute

// commit hands some steps to the GPU as the next unit, each of which is runs of the sequence for
// rows of a sequence of a width. Many rows, whose commands may take long, are run piece by piece.
// A step of few rows is not cut, but not more of them share a command buffer than have time there.
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

// abandon waits for what there is of a unit that cannot be handed over as a whole. If there is
// something, nothing that follows can be right.
func (r *runner) abandon(u *unit, err error) error {
	if len(u.commands) == 0 && u.took == 0 {
		return err
	}
	_ = r.allEnded(u, 0) // err was first
	return r.units.Fail(r.ofTime(err))
}

// ofTime is explained for an error of commands that nobody has looked at yet.
func (r *runner) ofTime(err error) error {
	if r.units.Failed() == nil && r.tooLong(err) { // not once more for what followed it
		return r.explained(err)
	}
	return err
}

// pieces runs a unit piece by piece, each of which has ended before the next begins: so no long
// command buffer waits for another, and each piece tells how long the next one may be. What
// the system ends for its length is run once more, all of it, in shorter pieces on a GPU opened
// anew, from what it began with.
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
	next := r.units.Next() // another slot than that of the rows, if these go on
	r.commands[next] = unit{took: took}
	r.units.Submit()
	return r.units.Wait(next)
}

// runPieces runs all pieces, and returns how long the GPU took.
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

// runPiece has a pool of its own: nothing of the piece is left behind.
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

// encode makes a command buffer of a piece and commits it.
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
	case p.slice != nil: // nothing is in flight that reads what it is given
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

// setSlice writes what a slice's command reads in place of the unit's.
func (r *runner) setSlice(s *slice) {
	r.writeRows(sliceSlot, s.rows, nil)
	if s.pages != nil {
		r.tables.WriteSpare(r.memory.Spaces[plan.SpaceTables].Bytes(), s.pages)
	}
}

// ended waits for a command buffer, releases it, and returns how long the GPU took. What is
// stuck stays as it is.
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

// allEnded waits for the command buffers of a unit but for some last ones, and notes how long the
// GPU took. The error is that of the first one that failed.
func (r *runner) allEnded(u *unit, but int) (err error) {
	for len(u.commands) > but {
		if r.stuck { // by what was committed before it
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
