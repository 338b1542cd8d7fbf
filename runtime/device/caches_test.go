package device_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// TestCopyRows checks that the first rows of a page are copied in all layers and planes, and that nothing
// else changes.
func TestCopyRows(t *testing.T) {
	planes := plan.Planes{32, 2}
	c := device.Caches{Pages: 3, Planes: planes}
	rng := rand.New(rand.NewPCG(1, 2))
	var want [][]byte
	page := plan.PageRows * planes.RowBytes()
	for range 2 {
		layer := make([]byte, c.Pages*page)
		for i := range layer {
			layer[i] = byte(rng.Uint32())
		}
		c.Layers = append(c.Layers, layer)
		copied := bytes.Clone(layer)
		copy(copied[page:][:5*32], layer[2*page:])
		copy(copied[page+64*32:][:5*2], layer[2*page+64*32:])
		want = append(want, copied)
	}
	c.CopyRows(2, 1, 5)
	for i := range want {
		if !bytes.Equal(c.Layers[i], want[i]) {
			t.Errorf("layer %d differs", i)
		}
	}
}
