package cuda

import (
	"bytes"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// bound makes commands that read the weights.
func bound(weights ...*device.Weight) []device.Command {
	var list []device.Command
	for _, w := range weights {
		list = append(list, device.Command{Bindings: []device.Binding{{Space: plan.SpaceWeight, Weight: w}, {Space: plan.SpaceArena}}})
	}
	return list
}

func TestPlaceWeights(t *testing.T) {
	view := func(region int, offset, bytes int64) *device.Weight {
		return &device.Weight{Region: region, Offset: offset, Bytes: bytes}
	}
	tied, also := view(0, 64, 100), view(0, 64, 100) // two roles of one tensor
	first, second := view(0, 200, 300), view(0, 250, 300)
	other := view(1, 0, 10)
	w := placeWeights(bound(other, second, tied, first, also, tied))
	want := map[*device.Weight]int64{tied: 0, also: 0, first: weightAlign, second: weightAlign + 50, other: 3 * weightAlign}
	for weight, at := range want {
		if w.offset[weight] != at {
			t.Errorf("%+v at %d; expected %d", weight, w.offset[weight], at)
		}
	}
	if w.bytes != 3*weightAlign+10 || len(w.spans) != 3 {
		t.Errorf("%d bytes in %+v", w.bytes, w.spans)
	}

	m := &device.Model{Regions: [][]byte{make([]byte, 1000), make([]byte, 10)}}
	for i := range m.Regions[0] {
		m.Regions[0][i] = byte(i)
	}
	const base = cu.Ptr(1 << 40)
	gpu := make([]byte, w.bytes)
	for _, p := range w.pieces(m, base) {
		copy(gpu[p.to-base:], p.from)
	}
	if !bytes.Equal(gpu[want[second]:want[second]+300], m.Regions[0][250:550]) {
		t.Error("a view is not where it should be")
	}
}

func TestCut(t *testing.T) {
	memory := make([]byte, 2*pieceBytes+5)
	list := cut(memory, 1000)
	if len(list) != 3 || len(list[0].from) != pieceBytes || len(list[2].from) != 5 || list[2].to != 1000+2*pieceBytes {
		t.Errorf("%d pieces", len(list))
	}
	if cut(nil, 0) != nil {
		t.Error("nothing gives pieces")
	}
}
