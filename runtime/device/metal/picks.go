package metal

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// Pick implements device.Picker. The commands that pick run after those of the rows, in the same command
// buffer. No other unit in flight uses their memory.
func (r *runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if r.picks.to == r.picks.from {
		return nil, fmt.Errorf("%w: there are no kernels that pick", device.ErrSampling)
	}
	if err := device.CheckPicks(picks, len(rows), r.bundle.BatchRows()); err != nil {
		return nil, err
	}
	wanted := device.PickedRows(picks)
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	l := r.pickLayout()
	device.WritePicks(r.memory.Spaces[plan.SpacePick].Bytes(), &l, picks, r.vocab)
	slot := r.units.Next()
	if err := mtl.Pool(func() error { return r.replay(rows, wanted, true) }); err != nil {
		return nil, err
	}
	r.picked, r.loop.slot, r.loop.rows = len(picks), slot, slices.Clone(rows)
	r.loop.Begin(rows, picks)
	return device.Picked(picks, r.tokens(0), r.vocab)
}

// loop is the steps after the last Pick. All steps use the Pick's rows, which the GPU updates from step to
// step. The host does not write these rows while a step is in flight.
type loop struct {
	device.Loop
	slot int        // of the rows
	rows []plan.Row // of the last Pick
}

// Continue implements device.Picker.
func (r *runner) Continue(n int) error {
	return r.loop.Continue(n, r.units.Next(), func() error {
		r.picked = 0
		return mtl.Pool(func() error {
			if _, err := r.units.Slot(); err != nil {
				return err
			}
			q := r.narrowest(r.loop.Rows())
			return r.commit(r.loop.slot, r.step(q), n, r.loop.rows, q.width) // the predicted time is about the same for any number of rows up to the width
		})
	})
}

// Next implements device.Picker.
func (r *runner) Next() ([]int32, error) {
	return r.loop.Next(func(slot int) error {
		return mtl.Pool(func() error { return r.units.Wait(slot) })
	}, r.tokens)
}

// tokens returns the tokens that the GPU has picked in a turn.
func (r *runner) tokens(turn int) []uint32 {
	l := r.pickLayout()
	return device.PickTurn(r.memory.Spaces[plan.SpacePick].Bytes()[l.Tokens:], turn, l.Rows)
}

// pickLayout returns the layout of the memory of picks. With one scanning threadgroup it is right for the arrays
// that the host reads and writes.
func (r *runner) pickLayout() plan.PickLayout {
	return plan.PickLayoutOf(r.bundle.BatchRows(), r.vocab, 1)
}

// PickedLogits implements device.Picker.
func (r *runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= r.picked || r.closed {
		return nil, fmt.Errorf("the logits of pick %d of %d", i, r.picked)
	}
	return floats(r.memory.Spaces[plan.SpaceLogits])[i*r.vocab:][:r.vocab], nil
}
