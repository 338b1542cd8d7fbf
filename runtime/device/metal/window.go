package metal

import (
	"fmt"
	"slices"
	"unsafe"

	"mla/runtime/device"
)

const (
	// pageSize is that of Apple Silicon: no-copy memory starts and ends at it.
	pageSize = device.MappedAlign
	// maxWindow is what the uint32 offsets of an ICB can address.
	maxWindow = 1 << 32
)

// place is where a weight lies: an index into windows and copies together
// (windows first), and an offset in bytes.
type place struct {
	buffer int
	offset uint64
}

// window is a page-aligned part of a mapped region that becomes one buffer.
type window struct {
	region        int
	start, length int64
}

// weights says which buffers hold the weights of a model.
type weights struct {
	windows []window
	copies  []*device.Weight // weights that get a buffer of their own
	places  map[*device.Weight]place
}

// placeWeights cuts mapped regions into windows of at most limit bytes, at the
// borders of weights; windows may overlap. A weight that is not in mapped
// memory, or that is not aligned as the GPU must have it, is copied.
func placeWeights(m *device.Model, limit int64) (*weights, error) {
	limit = limit / pageSize * pageSize
	w := &weights{places: map[*device.Weight]place{}}
	for _, t := range inOrder(m) {
		if pages(t.Offset+t.Bytes)-t.Offset/pageSize*pageSize > limit {
			return nil, fmt.Errorf("tensor %s has %d bytes; with whole pages around it, a buffer can have %d", t.Tensor, t.Bytes, limit)
		}
		if t.Region < m.Mapped && aligned(m.Regions[t.Region]) && t.Offset%device.WeightAlign == 0 {
			w.view(t, limit)
		} else {
			w.copies = append(w.copies, t)
		}
	}
	for i, t := range w.copies {
		w.places[t] = place{buffer: len(w.windows) + i}
	}
	return w, nil
}

// view places a weight into the last window, or begins another one.
func (w *weights) view(t *device.Weight, limit int64) {
	last := len(w.windows) - 1
	end := pages(t.Offset + t.Bytes)
	if last < 0 || w.windows[last].region != t.Region || end-w.windows[last].start > limit {
		w.windows = append(w.windows, window{region: t.Region, start: t.Offset / pageSize * pageSize})
		last++
	}
	open := &w.windows[last]
	open.length = max(open.length, end-open.start)
	w.places[t] = place{last, uint64(t.Offset - open.start)}
}

// inOrder lists a model's weights as they lie in its regions.
func inOrder(m *device.Model) []*device.Weight {
	var all []*device.Weight
	for i := range m.Weights {
		for l := range m.Weights[i] {
			all = append(all, &m.Weights[i][l])
		}
	}
	slices.SortStableFunc(all, func(a, b *device.Weight) int {
		if a.Region != b.Region {
			return a.Region - b.Region
		}
		return int(min(max(a.Offset-b.Offset, -1), 1))
	})
	return all
}

// pages rounds up to whole pages.
func pages(n int64) int64 { return (n + pageSize - 1) / pageSize * pageSize }

// aligned tells whether a region begins at a page.
func aligned(region []byte) bool {
	return len(region) > 0 && uintptr(unsafe.Pointer(&region[0]))%pageSize == 0
}
