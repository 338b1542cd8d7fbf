package cpu

import (
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/quant"
)

// TestTakes checks for every bundle that the device allocates as much as Takes says. A GPU also needs the
// memory of picks.
func TestTakes(t *testing.T) {
	for _, b := range generated.Bundles() {
		m := &device.Model{Bundle: b, Regions: [][]byte{{}}}
		for i := range b.Weights {
			m.Weights = append(m.Weights, make([]device.Weight, max(1, b.Weights[i].Last-b.Weights[i].First)))
		}
		for _, cfg := range []device.Config{
			{Context: 64, KV: quant.F16},
			{Context: 100, Pages: 3, Tables: 2, KV: quant.F32, Width: b.Width()},
		} {
			sizes, err := m.Measure(cfg)
			if err != nil {
				t.Fatalf("%s: %v", b.Name, err)
			}
			r, _, err := allocate(m, cfg)
			if err != nil {
				t.Fatalf("%s: %v", b.Name, err)
			}
			got := sizes.Tables // which the host has once
			for _, memory := range append(r.Spaces[:], r.Caches...) {
				got += int64(len(memory))
			}
			if want := New().Takes(sizes); got != want || r.Bytes() != want {
				t.Errorf("%s, %+v: %d bytes are allocated, %d told; want %d", b.Name, cfg, got, r.Bytes(), want)
			}
			if more := sizes.Bytes() - sizes.HostBytes(); more != b.PickBytes+b.Counters {
				t.Errorf("%s, %+v: a GPU takes %d bytes more", b.Name, cfg, more)
			}
		}
	}
}
