package metal

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// layout is the memory of a recording, and the places of the weights.
type layout struct {
	*device.Layout
	*weights
	constants []byte // see newSequence
}

// newLayout checks the configuration and computes sizes; limit is the largest size of a window.
func newLayout(m *device.Model, cfg device.Config, limit int64) (*layout, error) {
	sizes, err := m.Layout(cfg)
	if err != nil {
		return nil, err
	}
	if m.Mapped < 0 || m.Mapped > len(m.Regions) {
		return nil, fmt.Errorf("%d of %d regions are mapped", m.Mapped, len(m.Regions))
	}
	w, err := placeWeights(m, limit)
	if err != nil {
		return nil, err
	}
	return &layout{Layout: sizes, weights: w}, nil
}

// own is the bytes that the runner allocates beside weights.
func (l *layout) own() int64 { return takes(l.Layout) + int64(len(l.constants)) }

// takes is the bytes that a runner allocates beside weights and constants.
func takes(l *device.Layout) int64 {
	return l.Bytes() + sliceTable(l) + (ring+1)*(wantedBytes(l.Batch)+rowBytes*int64(l.Width))
}

// sliceTable is the bytes of the block table for slices, which follows the sessions' tables.
func sliceTable(l *device.Layout) int64 { return 4 * int64(l.MaxPages) }

// sizes is the bytes of each space, except weights and rows; for caches, of one layer.
func (l *layout) sizes() [plan.Spaces]int64 {
	sizes := l.Sizes()
	sizes[plan.SpaceArgs] = int64(len(l.constants))
	sizes[plan.SpaceTables] += sliceTable(l.Layout)
	return sizes
}

// fits fails for a layout that is too large for the GPU, before anything is allocated.
func (l *layout) fits(gpu *Info) error {
	total := uint64(l.own())
	for _, w := range l.windows {
		total += uint64(w.length)
	}
	for _, t := range l.copies {
		total += uint64(t.Bytes)
	}
	for i, n := range l.sizes() {
		if s := plan.Space(i); uint64(n) > gpu.MaxBuffer {
			what := s.String()
			if s == plan.SpaceKV {
				what += " of a layer"
			}
			return fmt.Errorf("the memory of the %s needs %d bytes; %s allows %d in one buffer", what, n, gpu.Name, gpu.MaxBuffer)
		}
	}
	if total > gpu.MaxMemory {
		return fmt.Errorf("weights, caches and buffers need %d bytes; %s recommends at most %d. A smaller context needs less. "+
			"On a Mac that has some GB more memory than that, sudo sysctl iogpu.wired_limit_mb=%d lets the GPU have it until the next start", total, gpu.Name, gpu.MaxMemory, wiredLimit(total))
	}
	return nil
}

// wiredLimit is the setting of the GPU's memory limit, in MiB, for a given number of bytes plus Metal's own
// memory.
func wiredLimit(bytes uint64) uint64 { return (bytes+1<<20-1)>>20 + 512 }
