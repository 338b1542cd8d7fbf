package golang

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// layer makes the dispatches of one layer: two kernels, of which one reads the layer's
// cache and one writes to a place in the arena.
func layer(l int, offset int64) []plan.Dispatch {
	return []plan.Dispatch{
		{Kernel: 1, Layer: l, Barrier: true, Operands: []plan.Operand{{Space: plan.SpaceKV, Index: l}}},
		{Kernel: 2, Layer: l, Operands: []plan.Operand{{Space: plan.SpaceArena, Offset: offset, Bytes: 64}}},
	}
}

// shape writes runs as their lengths, with how often and how far apart they come, and how much comes
// once more.
func shape(runs []plan.Repeat) string {
	var list []string
	for _, r := range runs {
		text := fmt.Sprintf("%d×%d/%d", r.Times, len(r.Dispatches), r.Layers)
		if r.More > 0 {
			text += fmt.Sprintf("+%d", r.More)
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// TestFold: layers that repeat are there once, whole layers only, and nothing that
// differs in more than its layer.
func TestFold(t *testing.T) {
	embed, head := plan.Dispatch{Kernel: 0, Layer: -1}, plan.Dispatch{Kernel: 3, Layer: -1}
	model := func(offsets ...int64) []plan.Dispatch {
		list := []plan.Dispatch{embed}
		for l, o := range offsets {
			list = append(list, layer(l, o)...)
		}
		return append(list, head)
	}
	barrier := model(0, 0, 0, 0)
	barrier[4].Barrier = true
	within := model(0, 0, 0, 0)
	within[1].Barrier = false
	cache := model(0, 0, 0, 0)
	cache[5].Operands[0].Index = 1
	for _, tt := range []struct {
		name string
		list []plan.Dispatch
		want string
	}{
		{"nothing", nil, ""},
		{"one", []plan.Dispatch{embed}, "1×1/0"},
		{"outside the layers", []plan.Dispatch{head, head, head, head}, "1×4/0"},
		{"all alike", model(0, 0, 0, 0), "1×1/0 4×2/1 1×1/0"},
		{"in turns", model(0, 64, 0, 64, 0), "1×1/0 2×4/2+2 1×1/0"},
		{"first differs", model(128, 64, 64, 64), "1×3/0 3×2/1 1×1/0"},
		{"all differ", model(0, 64, 128, 192), "1×10/0"},
		{"two runs", model(0, 0, 0, 64, 64, 64, 64), "1×1/0 3×2/1 4×2/1 1×1/0"},
		{"within a layer", within, "1×3/0 3×2/1 1×1/0"},
		{"a barrier", barrier, "1×5/0 2×2/1 1×1/0"},
		{"a cache", cache, "1×1/0 2×2/1 1×5/0"},
	} {
		runs := fold(tt.list)
		if got := shape(runs); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := plan.Expand(runs...); !reflect.DeepEqual(got, tt.list) {
			t.Errorf("%s: expands to\n%v, of\n%v", tt.name, got, tt.list)
		}
	}
}

// TestFoldRandom: whatever is folded expands to itself.
func TestFoldRandom(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, seed))
	for n := range 2000 {
		var list []plan.Dispatch
		for l := range r.IntN(12) {
			d := layer(l+r.IntN(2), 64*r.Int64N(2))
			list = append(list, d[:1+r.IntN(2)]...)
		}
		runs := fold(slices.Clone(list))
		if got := plan.Expand(runs...); !reflect.DeepEqual(got, list) {
			t.Fatalf("seed %d, list %d: %s expands to\n%v, of\n%v", seed, n, shape(runs), got, list)
		}
	}
}
