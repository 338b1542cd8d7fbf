package plan_test

import (
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestCachePlanes checks that a page's planes follow each other, and have the size of the type's blocks.
func TestCachePlanes(t *testing.T) {
	for _, tt := range []struct {
		lat, pe int
		kv      quant.Type
		want    plan.Planes
		err     string
	}{
		{512, 64, quant.F32, plan.Planes{2304}, ""},
		{512, 64, quant.F16, plan.Planes{1152}, ""},
		{512, 64, quant.Q8_0, plan.Planes{576, 36}, ""},
		{256, 32, quant.Q8_0, plan.Planes{288, 18}, ""},
		{10, 6, quant.F16, plan.Planes{32}, ""},
		{512, 16, quant.Q8_0, nil, "rows of 512 + 16 columns; expected multiples of 32: use f16"},
		{48, 64, quant.Q8_0, nil, "48 + 64 columns"},
		{512, 64, quant.Q4_0, nil, "KV cache of q4_0; expected f16, f32 or q8_0"},
		{512, 64, quant.Type(96), nil, "type 96"},
	} {
		m := plan.Model{Dims: plan.Dims{KVLoraRank: tt.lat, QKRopeHeadDim: tt.pe}}
		got, err := m.CachePlanes(tt.kv)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
		if offers := slices.Contains(m.CacheTypes(), tt.kv); offers != (err == nil) {
			t.Errorf("%+v: it is among the model's types: %t", tt, offers)
		}
		if f, ok := quant.Lookup(tt.kv); err == nil && (!ok || got.RowBytes() != (tt.lat+tt.pe)/f.BlockElems*f.BlockBytes) {
			t.Errorf("%+v: rows of %d bytes", tt, got.RowBytes())
		}
	}
	var ranges [][2]int
	for at, bytes := range (plan.Planes{576, 36}).Rows(5, 3) {
		ranges = append(ranges, [2]int{at, bytes})
	}
	if !slices.Equal(ranges, [][2]int{{5 * 576, 3 * 576}, {64*576 + 5*36, 3 * 36}}) {
		t.Errorf("three rows are at %v", ranges)
	}
}
