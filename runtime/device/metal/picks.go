package metal

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// Pick implements device.Picker. The commands that pick are executed behind those of the
// rows, in the same command buffer; nothing else in flight uses their memory.
func (r *runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if r.picks == (run{}) {
		return nil, fmt.Errorf("%w: there are no kernels that pick behind several rows", device.ErrSampling)
	}
	if err := device.CheckPicks(picks, len(rows)); err != nil {
		return nil, err
	}
	wanted := device.PickedRows(picks)
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	device.WritePicks(r.memory.Spaces[plan.SpacePick].Bytes(), picks, r.vocab)
	slot := r.units.Next()
	if err := mtl.Pool(func() error { return r.replay(rows, wanted, r.picks) }); err != nil {
		return nil, err
	}
	r.computed(rows, wanted)
	r.picked, r.ahead.rows, r.ahead.list = len(picks), slot, slices.Clone(rows)
	r.ahead.Begin(rows, picks)
	return device.Picked(picks, r.tokens(0), r.vocab)
}

// picksAhead are the steps behind the last Pick. All of them use its rows, which the GPU moves
// on from step to step: no host writes these while one is in flight.
type picksAhead struct {
	device.PicksAhead
	rows  int                 // slot of the rows
	list  []plan.Row          // those of the last Pick
	slots [plan.PickTurns]int // of the units
}

// PickAhead implements device.Picker.
func (r *runner) PickAhead() error {
	return r.ahead.Ask(func(turn int) error {
		r.last, r.picked, r.ahead.slots[turn] = nil, 0, r.units.Next()
		return mtl.Pool(func() error {
			if _, err := r.units.Slot(); err != nil {
				return err
			}
			q := r.narrowest(r.ahead.Rows())
			return r.commit(r.ahead.rows, []run{{q.from, q.to}, r.picks}, 0, r.ahead.list, q.width) // a row more or less is nothing to a prediction
		})
	})
}

// PickedAhead implements device.Picker.
func (r *runner) PickedAhead() ([]int32, error) {
	return r.ahead.Next(func(turn int) error {
		return mtl.Pool(func() error { return r.units.Wait(r.ahead.slots[turn]) })
	}, r.tokens)
}

// tokens are what the GPU picked at a turn.
func (r *runner) tokens(turn int) []uint32 {
	return device.PickTurn(r.memory.Spaces[plan.SpacePick].Bytes()[plan.PickLayoutOf(r.vocab, 1).Tokens:], turn)
}

// PickedLogits implements device.Picker.
func (r *runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= r.picked || r.closed {
		return nil, fmt.Errorf("the logits of pick %d of %d", i, r.picked)
	}
	return floats(r.memory.Spaces[plan.SpaceLogits])[i*r.vocab:][:r.vocab], nil
}
