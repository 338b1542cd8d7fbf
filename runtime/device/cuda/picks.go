package cuda

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// picks is the host memory for picking tokens. The picks are copied to the device in one copy, their masks in
// another, and the kernels write the tokens to host memory. There is one of each: the host waits for every
// Pick, and the steps after it need nothing from the host.
type picks struct {
	loop   device.Loop
	layout plan.PickLayout
	to     *cu.Pinned // [PickLayout.Tokens] bytes
	from   *cu.Pinned // [PickTurns][PickLayout.Rows]uint32
	graphs *replay    // of the last Pick
	made   int        // picks of the last Pick, if the logits on the device belong to it
}

// allocate allocates the memory, and returns where the kernels write the tokens. A bundle without kernels
// that pick tokens needs none.
func (p *picks) allocate(l *device.Layout, vocab int) (to hostRange, err error) {
	if l.Pick == 0 {
		return hostRange{}, nil
	}
	p.layout = plan.PickLayoutOf(l.Batch, vocab, 1)
	if p.to, err = cu.AllocPinned(int(p.layout.Tokens)); err != nil {
		return hostRange{}, err
	}
	to.offset = p.layout.Tokens
	p.from, to.to, err = cu.AllocMapped(4 * plan.PickTurns * p.layout.Rows)
	return to, err
}

func (p *picks) free() error { return errors.Join(p.to.Free(), p.from.Free()) }

// Pick implements device.Picker.
func (r *runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if len(r.commands.Pick) == 0 {
		return nil, fmt.Errorf("%w: there are no kernels that pick", device.ErrSampling)
	}
	if err := device.CheckPicks(picks, len(rows), r.batch); err != nil {
		return nil, err
	}
	wanted := device.PickedRows(picks)
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	if err := r.gpu.Do(func() error { return r.pick(rows, wanted, picks) }); err != nil {
		return nil, err
	}
	r.picks.made = len(picks)
	r.picks.loop.Begin(rows, picks)
	return device.Picked(picks, r.picks.tokens(0), r.vocab)
}

// tokens returns the tokens that the device has picked in a turn.
func (p *picks) tokens(turn int) []uint32 {
	return device.PickTurn(p.from.Bytes(), turn, p.layout.Rows)
}

// Continue implements device.Picker. The device has updated the rows and picks, so the graphs of the last
// Pick are launched again, as few as make n steps.
func (r *runner) Continue(n int) error {
	return r.picks.loop.Continue(n, r.units.Next(), func() error {
		r.picks.made = 0
		return r.gpu.Do(func() error {
			return r.unit(func(int) error { return r.picks.graphs.launch(n, r.stream) })
		})
	})
}

// launch launches n steps.
func (g *replay) launch(n int, s cu.Stream) error {
	for i, length := range lengths {
		for ; g.steps[i] != nil && n >= length; n -= length {
			if err := g.steps[i].Launch(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// Next implements device.Picker.
func (r *runner) Next() ([]int32, error) {
	return r.picks.loop.Next(func(slot int) error {
		return r.gpu.Do(func() error { return r.units.Wait(slot) })
	}, r.picks.tokens)
}

// pick runs rows and the picks for them, and waits. All copies come before the graph: while a copy between
// kernels runs, the GPU would be idle.
func (r *runner) pick(rows []plan.Row, wanted []int, picks []device.Pick) error {
	err := r.unit(func(slot int) error {
		graphs, err := r.sequence(slot, rows, wanted)
		if err != nil {
			return err
		}
		for turn := range plan.PickTurns { // so that this Pick does not return tokens of the one before
			for i := range r.picks.tokens(turn) {
				r.picks.tokens(turn)[i] = plan.SampleNone
			}
		}
		bytes, masks := device.WritePicks(r.picks.to.Bytes(), &r.picks.layout, picks, r.vocab)
		if err := r.stream.Upload(r.memory.Spaces[plan.SpacePick], r.picks.to, 0, bytes); err != nil {
			return err
		}
		if at := r.picks.layout.Masks; masks > 0 {
			if err := r.stream.Upload(r.memory.Spaces[plan.SpacePick]+cu.Ptr(at), r.picks.to, int(at), masks); err != nil {
				return err
			}
		}
		r.picks.graphs = graphs
		return graphs.launch(1, r.stream)
	})
	if err != nil {
		return err
	}
	return r.units.Drain()
}

// PickedLogits implements device.Picker.
func (r *runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= r.picks.made || r.closed {
		return nil, fmt.Errorf("the logits of pick %d of %d", i, r.picks.made)
	}
	at := i * r.vocab
	err := r.gpu.Do(func() error {
		err := r.unit(func(int) error {
			return r.stream.Download(r.logits, 4*at, r.memory.Spaces[plan.SpaceLogits]+cu.Ptr(4*at), 4*r.vocab)
		})
		if err != nil {
			return err
		}
		return r.units.Drain()
	})
	return r.hostLogits()[at:][:r.vocab], err
}
