package metal

import (
	"errors"

	"mla/runtime/device/metal/mtl"
)

// members is what a batch has in a residency set: each level has those before it.
type members int

const (
	nothing members = iota // there is no set
	itsBuffers
	itsCommands  // the ICB
	itsPipelines // see mtl.ResidencySet.AddPipeline
)

// errNotAllocations says that pipelines cannot be in residency sets.
var errNotAllocations = unsupported{errors.New("on this system pipelines are no allocations (they are from macOS 26 on)")}

// ResidencyBuffers is the self-test, encoded directly, with its buffers in a
// residency set of the queue (macOS 15).
func (d *Device) ResidencyBuffers() error { return d.selfTest(ReplayEncode, itsBuffers) }

// ResidencyIndirect is the self-test by an indirect command buffer that is in a
// residency set with all buffers. Nothing else makes them resident.
func (d *Device) ResidencyIndirect() error { return d.selfTest(ReplayICB, itsCommands) }

// ResidencyPipelines is ResidencyIndirect with the pipelines in the set too. Its
// error is errors.ErrUnsupported where the system does not count them as
// allocations: there it stops before one is added.
func (d *Device) ResidencyPipelines() error { return d.selfTest(ReplayICB, itsPipelines) }

// reside makes a residency set and has the queue use it.
func (b *batch) reside(m members) error {
	if m == nothing {
		return nil
	}
	return mtl.Pool(func() error {
		set, err := b.gpu.NewResidencySet(len(b.copies) + 1 + len(b.pipelines))
		if err != nil {
			return err
		}
		for _, c := range b.copies {
			set.AddBuffer(c)
		}
		if m >= itsCommands {
			set.AddIndirect(b.icb)
		}
		if m >= itsPipelines {
			for _, p := range b.pipelines {
				if !set.AddPipeline(p) {
					set.Release()
					return errNotAllocations
				}
			}
		}
		set.Commit()
		set.Request()
		b.queue.AddResidency(set)
		b.resident = set
		return nil
	})
}

// unreside undoes reside.
func (b *batch) unreside() {
	if b.resident.Nil() {
		return
	}
	b.queue.RemoveResidency(b.resident)
	b.resident.End()
	b.resident.Release()
}
