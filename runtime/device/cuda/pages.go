package cuda

import (
	"errors"

	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

var errClosed = errors.New("the runner is closed")

// Assign implements device.Runner. It waits for what is in flight: tokens there may
// read the entries, and an earlier copy of them may be under way.
func (r *runner) Assign(table, first int, pages []uint32) error {
	if r.closed {
		return errClosed
	}
	at, err := r.tables.Assign(table, first, pages)
	if err != nil || len(pages) == 0 {
		return err
	}
	return r.gpu.Do(func() error {
		if err := r.drain(); err != nil {
			return err
		}
		r.tables.Write(r.paged.Bytes(), at, len(pages))
		return r.unit(0, func(int) error {
			return r.stream.Upload(r.memory.tables+cu.Ptr(4*at), r.paged, 4*at, 4*len(pages))
		})
	})
}

// CopyRows implements device.Runner.
func (r *runner) CopyRows(from, to uint32, n int) error {
	if r.closed {
		return errClosed
	}
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	page := r.memory.cache / int64(r.tables.Pages())
	return r.gpu.Do(func() error {
		return r.unit(0, func(int) error {
			for _, c := range r.memory.caches {
				if err := r.stream.Copy(c+cu.Ptr(int64(to)*page), c+cu.Ptr(int64(from)*page), page/plan.PageRows*int64(n)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
