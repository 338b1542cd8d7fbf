package metal

import (
	"errors"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

var errClosed = errors.New("the runner is closed")

// Assign implements device.Runner. It waits for tokens in flight, as they may read the entries.
func (r *runner) Assign(table, first int, pages []uint32) error {
	if r.closed {
		return errClosed
	}
	at, err := r.tables.Assign(table, first, pages)
	if err != nil || len(pages) == 0 {
		return err
	}
	return r.idle(func() { r.tables.Write(r.memory.Spaces[plan.SpaceTables].Bytes(), at, len(pages)) })
}

// CopyRows implements device.Runner. The host copies the rows, as GPU and CPU share the memory.
func (r *runner) CopyRows(from, to uint32, n int) error {
	if r.closed {
		return errClosed
	}
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	return r.idle(func() { r.hostCaches().CopyRows(from, to, n) })
}

// PageBytes implements device.Runner.
func (r *runner) PageBytes() int { return r.pageBytes }

// ReadPage implements device.Runner.
func (r *runner) ReadPage(page uint32, dst []byte) error {
	if err := r.checkPage(page, dst); err != nil {
		return err
	}
	return r.idle(func() { r.hostCaches().Read(page, dst) })
}

// WritePage implements device.Runner.
func (r *runner) WritePage(page uint32, src []byte) error {
	if err := r.checkPage(page, src); err != nil {
		return err
	}
	return r.idle(func() { r.hostCaches().Write(page, src) })
}

func (r *runner) checkPage(page uint32, host []byte) error {
	if r.closed {
		return errClosed
	}
	return r.tables.CheckPage(page, len(host), r.pageBytes)
}

// hostCaches is the host's view of the caches.
func (r *runner) hostCaches() device.Caches {
	c := device.Caches{Pages: r.tables.Pages(), Planes: r.planes}
	for _, b := range r.memory.Caches {
		c.Layers = append(c.Layers, b.Bytes())
	}
	return c
}

// idle calls change once no command in flight uses the memory that it changes.
func (r *runner) idle(change func()) error {
	return mtl.Pool(func() error {
		if err := r.units.Drain(); err != nil {
			return err
		}
		change()
		return nil
	})
}
