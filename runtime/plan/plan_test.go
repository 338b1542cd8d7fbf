package plan

import (
	"math"
	"testing"

	"mla/runtime/quant"
)

// TestSplits: the splits cover every row once, are whole tiles, no more than
// Count, and no longer than that or half the square root of the rows demands.
func TestSplits(t *testing.T) {
	for _, tt := range []struct{ count, tile, rows, per int }{
		{32, 16, 1, 16}, {32, 16, 16, 16}, {32, 16, 512, 16}, {32, 16, 513, 32}, {32, 16, 4096, 128},
		{4, 2, 9, 4}, {1, 1, 7, 7}, {1024, 1, 5, 2}, {3, 5, 16, 10}, {128, 16, 1024, 16}, {128, 16, 1025, 32}, {128, 16, 4096, 32}, {128, 16, 4097, 64}, {128, 16, 32768, 256},
	} {
		s := Splits{Count: tt.count, Tile: tt.tile}
		if per := s.Per(tt.rows); per != tt.per {
			t.Errorf("%+v: %d rows per split of %d, want %d", s, per, tt.rows, tt.per)
		}
	}
	for count := 1; count <= 40; count++ {
		for tile := 1; tile <= 20; tile++ {
			s := Splits{Count: count, Tile: tile}
			for rows := 1; rows <= 200; rows++ {
				per := s.Per(rows)
				if per%tile != 0 || per < tile || count*per < rows {
					t.Fatalf("%+v: %d rows per split of %d", s, per, rows)
				}
				if used := s.Used(rows); used > count || used*per < rows || (used-1)*per >= rows {
					t.Fatalf("%+v: %d splits of %d for %d rows", s, used, per, rows)
				}
				if per > tile && count*(per-tile) >= rows && 4*(per/2)*(per/2) >= rows {
					t.Fatalf("%+v: a tile less than %d would cover %d rows", s, per, rows)
				}
			}
		}
	}
}

// TestTemperature checks the values of Mistral Large 3, and a bundle without a temperature.
func TestTemperature(t *testing.T) {
	large := Temperature{Scale: 0.1, Length: 8192}
	for pos, want := range map[int]float64{0: 1, 8191: 1, 8192: 1.0693147, 16383: 1.0693147, 16384: 1.1098612} {
		if got := large.At(pos); math.Abs(got-want) > 1e-6 {
			t.Errorf("at %d: %g, want %g", pos, got, want)
		}
	}
	if got := (Temperature{}).At(99); got != 1 {
		t.Errorf("without: %g", got)
	}
}

// TestGroups checks that every row has a threadgroup, and that every threadgroup has work.
func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		part Part
		want int
	}{
		{&MatVec{Batch: 1, Product: Product{Rows: 64, RowsPerGroup: 16}}, 4},
		{&MatVec{Batch: 3, Product: Product{Rows: 65, RowsPerGroup: 16}}, 15}, // no threadgroup spans two entries
		{&Experts{K: 4, Product: Product{Rows: 15, RowsPerGroup: 16}}, 4},
		{&ExpertsSum{K: 4, Product: Product{Rows: 33, RowsPerGroup: 16}}, 3}, // the experts are summed inside
		{&StoreKV{}, 1},
		{&Attend{Heads: 20, Splits: Splits{Count: 32, Tile: 16}}, 32}, // one serves all heads
		{&Embed{Dim: 257, RowsPerGroup: 128}, 3},
		{&NormVec{Dim: 4096}, 1},
		{&RopeVec{Heads: 20}, 1},
		{&CombineVec{Combine: Combine{Heads: 20}}, 20},
		{&SwiGLUVec{Dim: 256, RowsPerGroup: 128}, 2},
		{&AddVec{Dim: 1, RowsPerGroup: 128}, 1},
		{&RouteVec{}, 1},
		{&RouteBatch{}, 1},
		{&GroupExperts{Grouping: Grouping{Experts: 64}}, 64}, // for all rows
		{&WeightedSum{K: 8, Dim: 130, RowsPerGroup: 128}, 2},
		{&ScanPicks{Vocab: 1025, Block: 256, Blocks: 4}, 2 * DefaultBatch},
		{&PickTokens{Vocab: 1025, Scanned: 5}, DefaultBatch},
		{&ScanPicks{Vocab: 1025, Block: 256, Blocks: 4, MaxBatch: 32}, 2 * 32},
		{&PickTokens{Vocab: 1025, Scanned: 5, MaxBatch: 32}, 32},
	} {
		if got := tt.part.Groups(); got != tt.want {
			t.Errorf("%T: %d threadgroups, want %d", tt.part, got, tt.want)
		}
	}
	k := Kernel{Parts: []Part{&MatVec{Batch: 1, Product: Product{Rows: 64, RowsPerGroup: 16}}, &StoreKV{}}}
	if got := k.Groups(); got != 5 {
		t.Errorf("kernel of two parts: %d threadgroups, want 5", got)
	}
}

// TestPickLayout checks the offsets: the arrays follow each other at multiples of 256 bytes, and have a place for each
// row of a batch.
func TestPickLayout(t *testing.T) {
	want := PickLayout{Rows: 16, Picks: 0, Adjusts: 1280, Masks: 787712, Tokens: 787968, Values: 804352, Tops: 810752, TopIDs: 811008, Kept: 811264, KeptIDs: 817664, Bytes: 824064}
	if got := PickLayoutOf(16, 100, 3); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = PickLayout{Rows: 32, Picks: 0, Adjusts: 2560, Masks: 1575424, Tokens: 1575936, Values: 1608704, Tops: 1621504, TopIDs: 1622016, Kept: 1622528, KeptIDs: 1635328, Bytes: 1648128}
	if got := PickLayoutOf(32, 100, 3); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestProfileAt(t *testing.T) {
	p := Profile{Types: [][]quant.Type{{quant.Q4_0}, {quant.Q4_K, quant.Q6_K}}}
	for _, tt := range []struct {
		row, layer int
		want       quant.Type
	}{{0, 0, quant.Q4_0}, {0, 7, quant.Q4_0}, {1, 0, quant.Q4_K}, {1, 1, quant.Q6_K}} {
		if got := p.At(tt.row, tt.layer); got != tt.want {
			t.Errorf("weight %d, layer %d: %v, want %v", tt.row, tt.layer, got, tt.want)
		}
	}
}

func TestTypedSlots(t *testing.T) {
	k := Kernel{Slots: []Slot{{Elem: ElemF32}, {Elem: ElemTyped}, {Elem: ElemAct}, {Elem: ElemTyped, Space: SpaceKV}}}
	if got := k.TypedSlots(); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("typed slots %v, want [1 3]", got)
	}
}

func TestModel(t *testing.T) {
	dense := Model{Dims: Dims{NumHiddenLayers: 32, KVLoraRank: 512, QKRopeHeadDim: 64, QKNopeHeadDim: 128}}
	if dense.DenseLayers() != 32 || dense.CacheDim() != 576 || dense.QHeadDim() != 192 {
		t.Errorf("%d dense layers, cache rows of %d, queries of %d", dense.DenseLayers(), dense.CacheDim(), dense.QHeadDim())
	}
	experts := Model{Dims: Dims{NumHiddenLayers: 27}, MoE: MoE{NRoutedExperts: 64, FirstKDenseReplace: 1}}
	if experts.DenseLayers() != 1 {
		t.Errorf("%d dense layers, want 1", experts.DenseLayers())
	}
}
