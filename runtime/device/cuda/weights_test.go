package cuda

import (
	"bytes"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// bound makes commands that read the weights.
func bound(weights ...*device.Weight) []device.Command {
	var list []device.Command
	for _, w := range weights {
		list = append(list, device.Command{Kernel: &plan.Kernel{}, Variant: &plan.Variant{},
			Bindings: []device.Binding{{Space: plan.SpaceWeight, Weight: w}, {Space: plan.SpaceArena}}})
	}
	return list
}

// read makes a command that reads a weight by rows of cols elements.
func read(w *device.Weight, cols int) device.Command {
	k := &plan.Kernel{Name: "k", Slots: []plan.Slot{{Name: "w", Elem: plan.ElemTyped}}, Parts: []plan.Part{&plan.MatVec{Product: plan.Product{Up: -1, Cols: cols}}}}
	return device.Command{Kernel: k, Variant: &plan.Variant{Types: []quant.Type{w.Type}}, Bindings: []device.Binding{{Space: plan.SpaceWeight, Weight: w}}}
}

func TestPlaceWeights(t *testing.T) {
	view := func(region int, offset, bytes int64) *device.Weight {
		return &device.Weight{Region: region, Offset: offset, Bytes: bytes}
	}
	tied, also := view(0, 64, 100), view(0, 64, 100) // two roles of one tensor
	first, second := view(0, 200, 300), view(0, 250, 300)
	other := view(1, 0, 10)
	w, err := placeWeights(bound(other, second, tied, first, also, tied))
	if err != nil {
		t.Fatal(err)
	}
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

// TestPlaceSplitRows checks that views of one tensor, two rows of one and one row of the other in turns,
// reach the device as quant.SplitRows lays out the whole tensor.
func TestPlaceSplitRows(t *testing.T) {
	const cols, row, rows, placed = 64, 36, 3 * 40000, 48 // more than a piece; on the device rows begin at multiples of 16
	format, _ := quant.Lookup(quant.Q4_0)
	m := &device.Model{Regions: [][]byte{make([]byte, 4+rows*row)}}
	for i := range m.Regions[0] {
		m.Regions[0][i] = byte(i * i >> 3)
	}
	first := &device.Weight{Type: quant.Q4_0, Offset: 4, Bytes: (rows - 1) * row}
	second := &device.Weight{Type: quant.Q4_0, Offset: 4 + 2*row, Bytes: (rows - 2) * row}
	w, err := placeWeights([]device.Command{read(first, cols), read(second, cols), read(first, cols)})
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]byte, w.bytes), make([]byte, rows*placed)
	for _, p := range w.pieces(m, 0) {
		if len(p.from) > pieceBytes {
			t.Errorf("a piece of %d bytes", len(p.from))
		}
		p.rows.copy(got[p.to:], p.from)
	}
	format.SplitRows(want, m.Regions[0][4:], cols)
	if !bytes.Equal(got, want) || w.offset[second] != 2*placed || w.length[second] != (rows-2)*placed {
		t.Errorf("%d bytes, the second view at %d", len(got), w.offset[second])
	}
}

// TestPlaceRefuses checks that a matrix cannot be laid out in two ways.
func TestPlaceRefuses(t *testing.T) {
	view := func(offset, bytes int64) *device.Weight {
		return &device.Weight{Tensor: "t", Type: quant.Q4_0, Offset: offset, Bytes: bytes}
	}
	w := view(0, 720)
	for _, tt := range []struct {
		name     string
		commands []device.Command
		want     string
	}{
		{"two widths", []device.Command{read(w, 64), read(w, 128)}, "kernel k reads it by rows of 72 bytes, another one by rows of 36"},
		{"two widths of views", []device.Command{read(w, 64), read(view(72, 72), 128)}, "72 bytes at 72 of the matrix that they are part of"},
		{"between rows", []device.Command{read(w, 64), read(view(18, 36), 64)}, "whole rows of 36 bytes"},
		{"half a row", []device.Command{read(view(0, 54), 64)}, "54 bytes at 0"},
		{"two parts", []device.Command{func() device.Command {
			c := read(w, 64)
			c.Kernel.Parts = append(c.Kernel.Parts, &plan.Embed{Dim: 128})
			return c
		}()}, "read by rows of 64 and of 128 elements"},
	} {
		if _, err := placeWeights(tt.commands); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	// Rows that are not split may be cut in any way.
	if _, err := placeWeights([]device.Command{read(w, 32), read(view(18, 19), 96)}); err != nil {
		t.Error(err)
	}
}

func TestCut(t *testing.T) {
	memory := make([]byte, 2*pieceBytes+5)
	list := cut(memory, 1000, rowLayout{})
	if len(list) != 3 || len(list[0].from) != pieceBytes || len(list[2].from) != 5 || list[2].to != 1000+2*pieceBytes {
		t.Errorf("%d pieces", len(list))
	}
	if cut(nil, 0, rowLayout{}) != nil {
		t.Error("nothing gives pieces")
	}
	format, _ := quant.Lookup(quant.Q8_0)
	const long = pieceBytes // elements of a row, which is longer than a piece
	row := rowLayout{format, long}
	if list := cut(make([]byte, 2*row.bytes()), 0, row); len(list) != 2 || len(list[1].from) != row.bytes() {
		t.Errorf("%d pieces of long rows", len(list))
	}
}
