package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// picks is what picking behind several rows takes on the host: what is picked goes there as
// one copy, with its masks as another, and the tokens come back as another. A Pick is waited for, so there is one of each.
type picks struct {
	layout plan.PickLayout
	to     *cu.Pinned // [PickLayout.Tokens] bytes
	from   *cu.Pinned // [MaxWanted]uint32
	made   int        // by the last Pick, if the logits on the device are theirs
}

// allocate reserves it; where one row is run at a time there is nothing to do.
func (p *picks) allocate(vocab int, bytes int64) (err error) {
	if bytes == 0 {
		return nil
	}
	p.layout = plan.PickLayoutOf(vocab, 1)
	if p.to, err = cu.AllocPinned(int(p.layout.Tokens)); err != nil {
		return err
	}
	p.from, err = cu.AllocPinned(4 * plan.MaxWanted)
	return err
}

func (p *picks) free() error { return errors.Join(p.to.Free(), p.from.Free()) }

// Pick implements device.Picker.
func (r *runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if r.graphs.picks == nil {
		return nil, fmt.Errorf("%w: there are no kernels that pick behind several rows", device.ErrSampling)
	}
	if err := device.CheckPicks(picks, len(rows)); err != nil {
		return nil, err
	}
	wanted := device.PickedRows(picks)
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	if err := r.gpu.Do(func() error { return r.pick(rows, wanted, picks) }); err != nil {
		return nil, err
	}
	r.computed(rows, wanted)
	r.picks.made = len(picks)
	return device.Picked(picks, unsafe.Slice((*uint32)(unsafe.Pointer(&r.picks.from.Bytes()[0])), len(picks)), r.vocab)
}

// pick runs rows, and what picks behind them, and waits.
func (r *runner) pick(rows []plan.Row, wanted []int, picks []device.Pick) error {
	err := r.unit(0, func(slot int) error {
		// The rows first: what picks behind them is on its way while they run.
		if err := r.launchRows(slot, rows, wanted); err != nil {
			return err
		}
		bytes, masks := device.WritePicks(r.picks.to.Bytes(), picks, r.vocab)
		if err := r.stream.Upload(r.memory.picks, r.picks.to, 0, bytes); err != nil {
			return err
		}
		if at := r.picks.layout.Masks; masks > 0 {
			if err := r.stream.Upload(r.memory.picks+cu.Ptr(at), r.picks.to, int(at), masks); err != nil {
				return err
			}
		}
		if err := r.graphs.picks.Launch(r.stream); err != nil {
			return err
		}
		return r.stream.Download(r.picks.from, 0, r.memory.picks+cu.Ptr(r.picks.layout.Tokens), 4*len(picks))
	})
	if err != nil {
		return err
	}
	return r.drain()
}

// PickedLogits implements device.Picker.
func (r *runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= r.picks.made || r.closed {
		return nil, fmt.Errorf("the logits of pick %d of %d", i, r.picks.made)
	}
	at := i * r.vocab
	err := r.gpu.Do(func() error {
		err := r.unit(0, func(int) error {
			return r.stream.Download(r.logits, 4*at, r.memory.logits+cu.Ptr(4*at), 4*r.vocab)
		})
		if err != nil {
			return err
		}
		return r.drain()
	})
	return r.hostLogits()[at:][:r.vocab], err
}
