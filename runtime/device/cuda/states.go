package cuda

import (
	"fmt"

	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// StateBytes implements device.Stateful.
func (r *runner) StateBytes() int { return r.stateBytes }

// ReadState implements device.Stateful.
func (r *runner) ReadState(table int, dst []byte) error {
	return r.state(table, dst, func(at cu.Ptr) error {
		if err := r.stream.Download(r.stated, 0, at, len(dst)); err != nil {
			return err
		}
		if err := r.stream.Wait(); err != nil {
			return err
		}
		copy(dst, r.stated.Bytes())
		return nil
	})
}

// WriteState implements device.Stateful. It waits, because there is page-locked memory for one state only.
func (r *runner) WriteState(table int, src []byte) error {
	return r.state(table, src, func(at cu.Ptr) error {
		copy(r.stated.Bytes(), src)
		if err := r.stream.Upload(at, r.stated, 0, len(src)); err != nil {
			return err
		}
		return r.stream.Wait()
	})
}

// state runs move as a unit, with the address of the state of a block table's session.
func (r *runner) state(table int, host []byte, move func(at cu.Ptr) error) error {
	if r.closed {
		return errClosed
	}
	from, _, err := r.tables.State(table, len(host), r.stateBytes)
	if err != nil {
		return err
	}
	return r.gpu.Do(func() (err error) {
		if r.stated == nil {
			if r.stated, err = cu.AllocPinned(r.stateBytes); err != nil {
				return fmt.Errorf("%d bytes to move states: %w", r.stateBytes, err)
			}
		}
		return r.unit(func(int) error { return move(r.memory.Spaces[plan.SpaceState] + cu.Ptr(from)) })
	})
}
