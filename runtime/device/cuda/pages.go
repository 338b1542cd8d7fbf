package cuda

import (
	"errors"
	"fmt"

	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

var errClosed = errors.New("the runner is closed")

// Assign implements device.Runner. It waits until earlier copies of entries are done, because the host is
// about to change their source. The stream keeps the order with kernels that read the entries.
func (r *runner) Assign(table, first int, pages []uint32) error {
	if r.closed {
		return errClosed
	}
	at, err := r.tables.Assign(table, first, pages)
	if err != nil || len(pages) == 0 {
		return err
	}
	return r.gpu.Do(func() error {
		for i := range r.slots {
			if r.slots[i].tables {
				if err := r.units.Wait(i); err != nil {
					return err
				}
			}
		}
		r.tables.Write(r.paged.Bytes(), at, len(pages))
		slot := r.units.Next()
		err := r.unit(func(int) error {
			return r.stream.Upload(r.memory.Spaces[plan.SpaceTables]+cu.Ptr(4*at), r.paged, 4*at, 4*len(pages))
		})
		r.slots[slot].tables = err == nil
		return err
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
	page := r.pageOfLayer()
	return r.gpu.Do(func() error {
		return r.unit(func(int) error {
			for _, c := range r.memory.Caches {
				for at, bytes := range r.planes.Rows(0, n) {
					if err := r.stream.Copy(c+cu.Ptr(int64(to)*page+int64(at)), c+cu.Ptr(int64(from)*page+int64(at)), int64(bytes)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// PageBytes implements device.Runner.
func (r *runner) PageBytes() int { return int(r.pageOfLayer()) * len(r.memory.Caches) }

// pageOfLayer is the bytes of a page in one layer's cache.
func (r *runner) pageOfLayer() int64 { return r.memory.cache / int64(r.tables.Pages()) }

// ReadPage implements device.Runner.
func (r *runner) ReadPage(page uint32, dst []byte) error {
	return r.movePage(page, dst, func(slot int) error {
		from := slot * len(dst)
		if err := r.eachLayer(page, from, func(at cu.Ptr, host, bytes int) error {
			return r.stream.Download(r.staging, host, at, bytes)
		}); err != nil {
			return err
		}
		if err := r.stream.Wait(); err != nil {
			return err
		}
		copy(dst, r.staging.Bytes()[from:])
		return nil
	})
}

// WritePage implements device.Runner. It does not wait: src is copied to page-locked memory, which stays
// unchanged until the unit is done.
func (r *runner) WritePage(page uint32, src []byte) error {
	return r.movePage(page, src, func(slot int) error {
		from := slot * len(src)
		copy(r.staging.Bytes()[from:], src)
		return r.eachLayer(page, from, func(at cu.Ptr, host, bytes int) error {
			return r.stream.Upload(at, r.staging, host, bytes)
		})
	})
}

// movePage runs move as a unit, with page-locked memory for one page in every slot.
func (r *runner) movePage(page uint32, host []byte, move func(slot int) error) error {
	if r.closed {
		return errClosed
	}
	if err := r.tables.CheckPage(page, len(host), r.PageBytes()); err != nil {
		return err
	}
	return r.gpu.Do(func() (err error) {
		if r.staging == nil {
			if r.staging, err = cu.AllocPinned(ring * r.PageBytes()); err != nil {
				return fmt.Errorf("%d bytes to move pages: %w", ring*r.PageBytes(), err)
			}
		}
		return r.unit(move)
	})
}

// eachLayer calls move for the part of a page in every layer's cache, with its offset in the page-locked
// memory, where the page begins at host.
func (r *runner) eachLayer(page uint32, host int, move func(at cu.Ptr, host, bytes int) error) error {
	n := r.pageOfLayer()
	for i, c := range r.memory.Caches {
		if err := move(c+cu.Ptr(int64(page)*n), host+i*int(n), int(n)); err != nil {
			return err
		}
	}
	return nil
}
