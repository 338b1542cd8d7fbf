package cuda

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// SetInput implements device.Vectored. It waits for the units in flight, as an earlier copy may still read
// the page-locked memory.
func (r *runner) SetInput(vectors []float32) error {
	rows, v, err := device.Vectors(r.model.Bundle, vectors, r.width, device.InputOf)
	if err != nil {
		return err
	}
	act := r.model.Bundle.Activations
	return r.vectors(func(host *cu.Pinned) error {
		device.PutVectors(host.Bytes(), v, act, vectors)
		return r.unit(func(int) error {
			return r.stream.Upload(r.memory.Spaces[plan.SpaceArena]+cu.Ptr(v.Offset), host, 0, int(v.Bytes(rows, act)))
		})
	})
}

// Hidden implements device.Vectored.
func (r *runner) Hidden(dst []float32) error {
	rows, v, err := device.Vectors(r.model.Bundle, dst, r.width, device.HiddenOf)
	if err != nil {
		return err
	}
	return r.vectors(func(host *cu.Pinned) error {
		err := r.unit(func(int) error {
			return r.stream.Download(host, 0, r.memory.Spaces[plan.SpaceArena]+cu.Ptr(v.Offset), int(v.Bytes(rows, r.model.Bundle.Activations)))
		})
		if err == nil {
			err = r.units.Drain()
		}
		if err == nil {
			device.TakeVectors(dst, host.Bytes(), v)
		}
		return err
	})
}

// vectors calls move with page-locked memory for the vectors of a sequence that no unit in flight uses.
func (r *runner) vectors(move func(host *cu.Pinned) error) error {
	if r.closed {
		return errClosed
	}
	return r.gpu.Do(func() (err error) {
		if err := r.units.Drain(); err != nil {
			return err
		}
		if r.moved == nil {
			most := int64(0)
			for _, q := range r.model.Bundle.Sequences {
				for _, v := range []*plan.Vectors{q.Input, q.Hidden} {
					if v != nil && q.Width <= r.width {
						most = max(most, v.Bytes(q.Width, r.model.Bundle.Activations))
					}
				}
			}
			if r.moved, err = cu.AllocPinned(int(most)); err != nil {
				return fmt.Errorf("%d bytes to move vectors: %w", most, err)
			}
		}
		return move(r.moved)
	})
}
