package metal

import (
	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// SetInput implements device.Vectored. The host writes the memory, which GPU and CPU share.
func (r *runner) SetInput(vectors []float32) error {
	if r.closed {
		return errClosed
	}
	_, v, err := device.Vectors(r.bundle, vectors, r.width, device.InputOf)
	if err != nil {
		return err
	}
	return r.idle(func() {
		device.PutVectors(r.memory.Spaces[plan.SpaceArena].Bytes()[v.Offset:], v, r.bundle.Activations, vectors)
	})
}

// Hidden implements device.Vectored.
func (r *runner) Hidden(dst []float32) error {
	if r.closed {
		return errClosed
	}
	_, v, err := device.Vectors(r.bundle, dst, r.width, device.HiddenOf)
	if err != nil {
		return err
	}
	return r.idle(func() { device.TakeVectors(dst, r.memory.Spaces[plan.SpaceArena].Bytes()[v.Offset:], v) })
}

// arenaStorage is the storage mode of a bundle's arena: shared if the host reads or writes vectors in it.
func arenaStorage(m *device.Model) uint64 {
	if b := m.Bundle.Decode(); b.Input != nil || b.Hidden != nil {
		return mtl.StorageShared
	}
	return mtl.StoragePrivate
}
