package metal

import (
	"errors"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

var errClosed = errors.New("the runner is closed")

// Assign implements device.Runner. It waits for the tokens in flight, which may read
// the entries.
func (r *runner) Assign(table, first int, pages []uint32) error {
	if r.closed {
		return errClosed
	}
	at, err := r.tables.Assign(table, first, pages)
	if err != nil || len(pages) == 0 {
		return err
	}
	return r.idle(func() { r.tables.Write(r.memory.tables.Bytes(), at, len(pages)) })
}

// CopyRows implements device.Runner. The host copies: GPU and CPU share the memory.
func (r *runner) CopyRows(from, to uint32, n int) error {
	if r.closed {
		return errClosed
	}
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	return r.idle(func() {
		for _, c := range r.memory.caches {
			rows := c.Bytes()
			page := len(rows) / r.tables.Pages()
			copy(rows[int(to)*page:][:page/plan.PageRows*n], rows[int(from)*page:])
		}
	})
}

// idle calls change once nothing is in flight that reads what it changes.
func (r *runner) idle(change func()) error {
	return mtl.Pool(func() error {
		if err := r.drain(); err != nil {
			return err
		}
		change()
		return nil
	})
}
