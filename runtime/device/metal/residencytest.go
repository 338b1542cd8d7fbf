package metal

import (
	"errors"

	"mla/runtime/device/metal/mtl"
)

// members is the contents of a batch's residency set: each value includes those of the values before it.
type members int

const (
	nothing members = iota // no set
	itsBuffers
	itsCommands  // and the ICB
	itsPipelines // and the pipelines, see mtl.ResidencySet.AddPipeline
)

// errNotAllocations says that the system does not accept pipelines in residency sets.
var errNotAllocations = unsupported{errors.New("on this system pipelines are no allocations (they are from macOS 26 on)")}

// ResidencyBuffers is the self-test with direct encoding and with its buffers in a residency set of the queue
// (macOS 15).
func (d *Device) ResidencyBuffers() error { return d.selfTest(ReplayEncode, itsBuffers) }

// ResidencyIndirect is the self-test with an indirect command buffer that is in a residency set together with
// all buffers. Nothing else makes the buffers resident.
func (d *Device) ResidencyIndirect() error { return d.selfTest(ReplayICB, itsCommands) }

// ResidencyPipelines is ResidencyIndirect with the pipelines in the set, too. It returns
// errors.ErrUnsupported, before it adds a pipeline, where the system does not treat pipelines as allocations.
func (d *Device) ResidencyPipelines() error { return d.selfTest(ReplayICB, itsPipelines) }

// reside creates a residency set and adds it to the queue.
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

// unreside removes the residency set.
func (b *batch) unreside() {
	if b.resident.Nil() {
		return
	}
	b.queue.RemoveResidency(b.resident)
	b.resident.End()
	b.resident.Release()
}
