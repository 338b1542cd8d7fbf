package plan

import (
	"reflect"
	"testing"
)

// TestExpand checks that each repetition is some layers later, with the caches of those layers, and shares no
// memory with the others.
func TestExpand(t *testing.T) {
	operands := func(cache int) []Operand {
		return []Operand{{Space: SpaceKV, Index: cache}, {Space: SpaceWeight, Index: 3, Ahead: 1}, {Space: SpaceArena, Offset: 256, Bytes: 64}}
	}
	first := Dispatch{Kernel: 0, Layer: -1}
	runs := []Repeat{
		{Times: 1, Dispatches: []Dispatch{first}},
		{Times: 3, Layers: 2, Dispatches: []Dispatch{{Kernel: 1, Layer: 4, Barrier: true, Operands: operands(4)}, {Kernel: 2, Layer: 5, Operands: operands(5)}}},
		{Dispatches: []Dispatch{first}}, // no times
		{Times: 1, Layers: 1, More: 1, Dispatches: []Dispatch{{Kernel: 1, Layer: 9}, {Kernel: 2, Layer: 9}}},
	}
	want := []Dispatch{
		first,
		{Kernel: 1, Layer: 4, Barrier: true, Operands: operands(4)}, {Kernel: 2, Layer: 5, Operands: operands(5)},
		{Kernel: 1, Layer: 6, Barrier: true, Operands: operands(6)}, {Kernel: 2, Layer: 7, Operands: operands(7)},
		{Kernel: 1, Layer: 8, Barrier: true, Operands: operands(8)}, {Kernel: 2, Layer: 9, Operands: operands(9)},
		{Kernel: 1, Layer: 9}, {Kernel: 2, Layer: 9}, {Kernel: 1, Layer: 10},
	}
	got := Expand(runs...)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nwant\n%+v", got, want)
	}
	got[1].Operands[1].Index++
	if !reflect.DeepEqual(got[2:], want[2:]) || runs[1].Dispatches[0].Operands[1].Index != 3 {
		t.Error("dispatches share operands")
	}
	if all := Expand(); all != nil {
		t.Errorf("%v of nothing", all)
	}
}
