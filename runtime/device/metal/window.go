package metal

import (
	"fmt"
	"slices"
	"unsafe"

	"mla/runtime/device"
)

const (
	// pageSize is the page size of Apple Silicon, to which no-copy memory is aligned.
	pageSize = device.MappedAlign
	// maxWindow is the range that the uint32 offsets of an ICB can address.
	maxWindow = 1 << 32
)

// place is the place of a weight: an index into windows, followed by copies, and an offset in bytes.
type place struct {
	buffer int
	offset uint64
}

// window is a page-aligned part of a mapped region that becomes one buffer.
type window struct {
	region        int
	start, length int64
}

// weights is the buffers that hold the weights of a model.
type weights struct {
	windows []window
	copies  []*device.Weight // weights that are copied to a buffer of their own
	places  map[*device.Weight]place
}

// placeWeights cuts mapped regions into windows of at most limit bytes, between weights; windows may overlap.
// It copies weights that are not in mapped memory or not aligned.
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

// view adds a weight to the last window, or begins a new window.
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

// inOrder lists a model's weights in the order of their addresses.
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

// aligned says whether a region begins at a page boundary.
func aligned(region []byte) bool {
	return len(region) > 0 && uintptr(unsafe.Pointer(&region[0]))%pageSize == 0
}
