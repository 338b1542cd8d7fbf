package metal

import (
	"errors"
	"time"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// unit is what was handed to the GPU as one: a command buffer, or nil and how long the GPU took
// for pieces that have ended.
type unit struct {
	mtl.Commands
	predicted time.Duration // 0: nobody wants to know how good that was
	took      time.Duration
}

// waitLimit is how long a command buffer may take until the GPU counts as stuck. Commands that
// the system ends for their length have ended long before.
var waitLimit = 5 * time.Minute

// commit hands runs of the sequence to the GPU as the next unit, for rows of a sequence of a
// width. Many rows, whose commands may take long, are run piece by piece.
func (r *runner) commit(slot int, runs []run, rows []plan.Row, width int) error {
	u := unit{}
	if width >= plan.MaxBatch {
		c := newCutting(r.sequence, &r.pace, rows, width, r.tables, runs)
		if u.predicted = c.all(); width > plan.MaxBatch || u.predicted > r.pace.buffer() {
			return r.pieces(slot, runs, rows, width)
		}
	}
	var err error
	if u.Commands, err = r.encode(slot, piece{runs: runs}); err != nil {
		return err
	}
	r.commands[r.units.Next()] = u
	r.units.Submit()
	return nil
}

// pieces runs a unit piece by piece, each of which has ended before the next begins: so no long
// command buffer waits for another, and each piece tells how long the next one may be. What
// the system ends for its length is run once more, all of it, in shorter pieces on a GPU opened
// anew, from what it began with.
func (r *runner) pieces(slot int, runs []run, rows []plan.Row, width int) error {
	if err := r.units.Drain(); err != nil {
		return err
	}
	before := r.overwritten(slot)
	took, err := r.runPieces(slot, newCutting(r.sequence, &r.pace, rows, width, r.tables, runs))
	for r.tooLong(err) && !r.rebuilt {
		r.rebuilt = true
		if failed := r.rebuild(slot, before); failed != nil {
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
	err = commands.Wait(waitLimit)
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
	if took = u.took; !u.Nil() {
		if r.stuck { // by what was committed before it
			return 0, gone{&mtl.StuckError{After: waitLimit}}
		}
		if took, err = r.ended(u.Commands); err != nil {
			if r.units.Failed() == nil && r.tooLong(err) { // not once more for what followed it
				err = r.explained(err)
			}
			return took, err
		}
		r.pace.measured(u.predicted, took)
	}
	r.saving.begin()
	*u = unit{}
	return took, nil
}
