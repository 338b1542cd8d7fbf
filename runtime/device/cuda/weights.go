package cuda

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// weightAlign is the alignment of weights on the device, in bytes: that of the widest load, and whole cache
// lines.
const weightAlign = 256

// span is a range of a region that is contiguous on the device, too.
type span struct {
	region     int
	start, end int64 // in the region, in bytes
	at         int64 // on the device, in bytes from the start of all weights
	rows       rowLayout
}

// weights is the parts of a model's regions that are copied to the device, and their places there.
type weights struct {
	spans  []span
	offset map[*device.Weight]int64 // on the device, from the start of all weights
	length map[*device.Weight]int64 // on the device
	bytes  int64
}

// placeWeights lays out the weights that commands use. Weights that overlap in a file, such as views of one
// tensor, stay in one span, so no byte is copied twice.
func placeWeights(c []device.Command) (*weights, error) {
	all, layouts, err := used(c)
	if err != nil {
		return nil, err
	}
	w := &weights{offset: map[*device.Weight]int64{}, length: map[*device.Weight]int64{}}
	for _, t := range all {
		r := layouts[t]
		last := len(w.spans) - 1
		if last >= 0 && w.spans[last].region == t.Region && t.Offset < w.spans[last].end {
			w.spans[last].end = max(w.spans[last].end, t.Offset+t.Bytes)
		} else {
			w.bytes = aligned(w.bytes)
			w.spans = append(w.spans, span{t.Region, t.Offset, t.Offset + t.Bytes, w.bytes, r})
			last++
		}
		s := &w.spans[last]
		if n := int64(r.bytes()); s.rows != r || (t.Offset-s.start)%n != 0 || t.Bytes%n != 0 {
			return nil, fmt.Errorf("tensor %s: %d bytes at %d of the matrix that they are part of; expected whole rows of %d bytes", t.Tensor, t.Bytes, t.Offset-s.start, s.rows.bytes())
		}
		w.offset[t], w.length[t] = s.at+r.placed(t.Offset-s.start), r.placed(t.Bytes)
		w.bytes = s.at + r.placed(s.end-s.start)
	}
	return w, nil
}

// used lists the weights that commands read, each once and by address, and the layouts of their rows on the
// device.
func used(c []device.Command) (all []*device.Weight, layouts map[*device.Weight]rowLayout, err error) {
	layouts = map[*device.Weight]rowLayout{}
	for i := range c {
		split, err := splitRows(c[i].Kernel, c[i].Variant)
		if err != nil {
			return nil, nil, err
		}
		for slot, b := range c[i].Bindings {
			if b.Space != plan.SpaceWeight {
				continue
			}
			have, ok := layouts[b.Weight]
			switch {
			case !ok:
				layouts[b.Weight] = split[slot]
				all = append(all, b.Weight)
			case have != split[slot]:
				return nil, nil, fmt.Errorf("tensor %s: kernel %s reads it by rows of %d bytes, another one by rows of %d", b.Weight.Tensor, c[i].Kernel.Name, split[slot].bytes(), have.bytes())
			}
		}
	}
	slices.SortFunc(all, func(a, b *device.Weight) int {
		if a.Region != b.Region {
			return a.Region - b.Region
		}
		return int(min(max(a.Offset-b.Offset, -1), 1))
	})
	return all, layouts, nil
}

func aligned(n int64) int64 { return (n + weightAlign - 1) / weightAlign * weightAlign }

// pieces lists the copies of the weights to the device.
func (w *weights) pieces(m *device.Model, base cu.Ptr) []piece {
	var list []piece
	for _, s := range w.spans {
		list = append(list, cut(m.Regions[s.region][s.start:s.end], base+cu.Ptr(s.at), s.rows)...)
	}
	return list
}
