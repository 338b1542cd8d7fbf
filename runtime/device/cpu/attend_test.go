package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// attention adds an Attend part with random queries and a random cache, and
// returns it with the packed queries per head and the cache.
func (rg *rig) attention(e plan.Elem, heads int, s plan.Splits) (p *plan.Attend, q [][]float64, cache []float64) {
	lat, pe := rg.bundle.Model.KVLoraRank, rg.bundle.Model.QKRopeHeadDim
	p = &plan.Attend{Heads: heads, LatDim: lat, PeDim: pe, Scale: 0.7, Splits: s}
	var abs, rot []float64
	p.QAbs.Slot, abs = rg.in(e, heads*lat)
	p.QAbs.Stride = lat
	p.QPe.Slot, rot = rg.in(e, 4+heads*(pe+3)) // the last dims of wider heads
	p.QPe.Offset, p.QPe.Stride = 4, pe+3
	for h := range heads {
		q = append(q, append(append([]float64{}, abs[h*lat:(h+1)*lat]...), rot[4+h*(pe+3):][:pe]...))
	}
	p.Cache = rg.cache(false)
	_, cache = rg.encodeRows(rg.normal(rg.ctx*(lat+pe), 1))
	rg.caches = [][]float64{cache}
	p.Out = rg.out(plan.ElemF32, s.Count*heads*lat)
	p.ML = rg.out(plan.ElemF32, s.Count*heads*2)
	return p, q, cache
}

func TestAttendAndCombine(t *testing.T) {
	for _, c := range []struct {
		kv     quant.Type
		elem   plan.Elem
		lat    int
		heads  int
		splits plan.Splits
	}{
		{quant.F32, plan.ElemF32, 10, 1, plan.Splits{Count: 1, Tile: 1}},
		{quant.F16, plan.ElemF32, 10, 5, plan.Splits{Count: 3, Tile: 4}},
		{quant.F16, plan.ElemF16, 90, 20, plan.Splits{Count: 4, Tile: 16}},
		{quant.F32, plan.ElemAct, 10, 8, plan.Splits{Count: 9, Tile: 3}},
		{quant.F32, plan.ElemF32, 10, 2, plan.Splits{Count: 2, Tile: 4096}},
		{quant.F16, plan.ElemF32, 90, headBlock, plan.Splits{Count: 3, Tile: 16}},
		{quant.F16, plan.ElemF32, 10, 2*headBlock + 1, plan.Splits{Count: 3, Tile: 16}},
		{quant.Q8_0, plan.ElemF32, 64, 5, plan.Splits{Count: 3, Tile: 16}},
		{quant.Q8_0, plan.ElemF16, 32, 1, plan.Splits{Count: 2, Tile: 3}},
	} {
		for _, pos := range []uint32{0, 1, 11, 12, 37, 99} {
			t.Run(fmt.Sprintf("%v-%d-%d-%d", c.kv, c.lat, c.heads, pos), func(t *testing.T) {
				rg := newRig(t, uint64(pos))
				rg.kv, rg.ctx = c.kv, 100
				rg.bundle.Model.KVLoraRank = c.lat
				if c.kv == quant.Q8_0 {
					rg.wide()
				}
				p, q, cache := rg.attention(c.elem, c.heads, c.splits)
				p.Temperature = plan.Temperature{Scale: 0.1, Length: 12} // 1 up to position 11
				rg.kernel.Parts = []plan.Part{p}
				r := rg.run(plan.Row{Pos: pos})
				scale := 0.7 * (1 + 0.1*math.Log(math.Floor(float64(pos)/12)+1))
				want := make([][]float64, c.heads)
				for h := range want {
					want[h] = attended(q[h], cache, int(pos)+1, c.lat+p.PeDim, c.lat, scale)
				}
				combined(t, rg, r, p, int(pos), want)
			})
		}
	}
}

// combined merges the splits that r left behind, alone and as the prologue of a
// mat-vec, and compares with want[head].
func combined(t *testing.T, from *rig, r *runner, p *plan.Attend, pos int, want [][]float64) {
	t.Helper()
	rg := newRig(t, 1)
	rg.ctx = 100
	lat := p.LatDim
	out, _ := rg.buffer(plan.ElemF32, false, from.read(r, p.Out, p.Splits.Count*p.Heads*lat))
	ml, _ := rg.buffer(plan.ElemF32, false, from.read(r, p.ML, p.Splits.Count*p.Heads*2))
	c := plan.Combine{Out: out, ML: ml, Splits: p.Splits, Heads: p.Heads}
	alone := &plan.CombineVec{Combine: c, Dim: lat, Out: plan.Vec{Slot: rg.out(plan.ElemF32, p.Heads*lat), Stride: lat}}
	fused := &plan.MatVec{Product: plan.Product{Rows: 9, Cols: lat, RowsPerGroup: 2, Combine: &c, Up: -1}, Batch: p.Heads, Add: -1}
	var w []float64
	fused.W, w = rg.weight(quant.F16, p.Heads, 9, lat)
	fused.Out = plan.Vec{Slot: rg.out(plan.ElemF32, p.Heads*9), Stride: 9}
	rg.kernel.Parts = []plan.Part{alone, fused}
	second := rg.run(plan.Row{Pos: uint32(pos)})
	latents := rg.read(second, alone.Out.Slot, p.Heads*lat)
	results := rg.read(second, fused.Out.Slot, p.Heads*9)
	for h := range want {
		check(t, fmt.Sprintf("head %d", h), latents[h*lat:(h+1)*lat], want[h], tolF32)
		check(t, fmt.Sprintf("projected head %d", h), results[h*9:(h+1)*9], multiplied(w, h, 9, lat, want[h]), tolF32)
	}
}

// TestAttendForgetsQueries checks that a worker does not keep the queries of a
// token for the next one.
func TestAttendForgetsQueries(t *testing.T) {
	record := func() (*rig, *plan.Attend, *runner) {
		rg := newRig(t, 3)
		p, _, _ := rg.attention(plan.ElemF32, 2, plan.Splits{Count: 1, Tile: 4})
		rg.kernel.Parts = []plan.Part{p}
		r, err := rg.record(1)
		if err != nil {
			t.Fatal(err)
		}
		return rg, p, r
	}
	replay := func(rg *rig, p *plan.Attend, r *runner) []float64 {
		if _, err := r.Replay([]plan.Row{{Pos: 5, NKV: 6, Table: table}}, device.All(1)); err != nil {
			t.Fatal(err)
		}
		return rg.read(r, p.Out, 2*p.LatDim)
	}
	other := func(rg *rig, p *plan.Attend, r *runner) {
		op := rg.ops[p.QAbs.Slot]
		clear(r.Spaces[plan.SpaceArena][op.Offset : op.Offset+op.Bytes])
	}
	rg, p, r := record()
	first := replay(rg, p, r)
	other(rg, p, r)
	second := replay(rg, p, r)
	rg, p, r = record()
	other(rg, p, r)
	if want := replay(rg, p, r); !slices.Equal(second, want) || slices.Equal(first, want) {
		t.Errorf("after other queries %v, alone %v", second, want)
	}
}

// TestAttendTwice checks that a worker does not take the queries of one attention
// for those of another.
func TestAttendTwice(t *testing.T) {
	const pos = 11
	rg := newRig(t, 4)
	rg.ctx = 100
	splits := plan.Splits{Count: 2, Tile: 4}
	first, q, _ := rg.attention(plan.ElemF32, 2, splits)
	second, otherQ, cache := rg.attention(plan.ElemF32, 2, splits) // of the same cache
	rg.kernel.Parts = []plan.Part{first, second}
	r := rg.run(plan.Row{Pos: pos})
	for p, q := range map[*plan.Attend][][]float64{first: q, second: otherQ} {
		var want [][]float64
		for h := range q {
			want = append(want, attended(q[h], cache, pos+1, 16, 10, 0.7))
		}
		combined(t, rg, r, p, pos, want)
	}
}

func TestEmptySplits(t *testing.T) {
	rg := newRig(t, 2)
	p, _, _ := rg.attention(plan.ElemF32, 2, plan.Splits{Count: 4, Tile: 2})
	rg.kernel.Parts = []plan.Part{p}
	r := rg.run(plan.Row{Pos: 2}) // 3 rows: splits 0 and 1 hold some
	ml := rg.read(r, p.ML, 16)
	for s := 2; s < 4; s++ {
		for h := range 2 {
			if m, l := ml[2*(2*s+h)], ml[2*(2*s+h)+1]; m != float64(float32(lowest)) || l != 0 {
				t.Errorf("split %d, head %d: m %g, l %g", s, h, m, l)
			}
		}
	}
}
