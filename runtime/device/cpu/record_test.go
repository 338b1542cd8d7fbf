package cpu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// every is a kernel with one part of each kind, all slots of which fit. Parts
// write the same buffers, so only one worker can replay it.
func every(t *testing.T) *rig {
	rg := newRig(t, 30)
	rg.bundle.Model.MoE.NRoutedExperts = 4
	const d = 32
	f32 := plan.ElemF32
	in, _ := rg.in(f32, 4*d)
	out := rg.out(f32, 4*d)
	w, _ := rg.weight(quant.Q4_0, 1, d, d)
	ew, _ := rg.weight(quant.Q4_0, 4, d, d)
	emb, _ := rg.weight(quant.Q4_0, 1, 7, d)
	norm, _ := rg.vector(d, 1)
	latNorm, _ := rg.vector(10, 1)
	bias, _ := rg.vector(4, 0)
	routing := rg.routing(true, make([]plan.Routing, 2)...)
	rope, cache := rg.ropeSlot(), rg.cache(true)
	logits := rg.slot(plan.Slot{Space: plan.SpaceLogits, Elem: f32, Write: true}, plan.Operand{})
	rg.slot(plan.Slot{Space: plan.SpaceRow, Elem: plan.ElemRow}, plan.Operand{})
	rg.slot(plan.Slot{Space: plan.SpaceArgs, Elem: plan.ElemArgs}, plan.Operand{})
	splits := plan.Splits{Count: 2, Tile: 4}
	parts := rg.out(f32, 2*2*10)
	ml := rg.out(f32, 2*2*2)
	gating := plan.Gating{Logits: in, Bias: bias, Experts: 4, K: 2, Scale: 1, Groups: 2, KGroups: 1}
	from, to := plan.Vec{Slot: in}, plan.Vec{Slot: out}
	combine := plan.Combine{Out: parts, ML: ml, Splits: splits, Heads: 2}
	rg.kernel.Parts = []plan.Part{
		&plan.MatVec{Product: plan.Product{Rows: d, Cols: d, RowsPerGroup: 4, In: from, Out: to, Norm: &plan.Norm{Weight: norm}, Up: w}, W: w, Batch: 1, Add: in},
		&plan.Experts{Product: plan.Product{Up: ew, Rows: d, Cols: d, RowsPerGroup: 4, In: from, Out: plan.Vec{Slot: out, Stride: d}, Gating: &gating}, W: ew, K: 2, Routing: routing},
		&plan.ExpertsSum{Product: plan.Product{Rows: d, Cols: d, RowsPerGroup: 4, In: plan.Vec{Slot: in, Stride: d}, Out: to, Up: -1}, W: ew, K: 2, Routing: routing, Shared: w, SharedCols: d, SharedIn: from, Add: in},
		&plan.StoreKV{Lat: from, KPe: from, LatDim: 10, PeDim: 6, Cache: cache, Norm: &plan.Norm{Weight: latNorm}, Rope: &plan.RopeAt{Table: rope, HeadDim: 6, Dim: 6}},
		&plan.Attend{QAbs: plan.Vec{Slot: in, Stride: 10}, QPe: plan.Vec{Slot: in, Stride: 6}, Heads: 2, LatDim: 10, PeDim: 6, Scale: 1, Cache: cache, Out: parts, ML: ml, Splits: splits},
		&plan.Embed{W: emb, Out: to, Dim: d, RowsPerGroup: 8},
		&plan.NormVec{In: from, Out: to, Dim: d, Norm: plan.Norm{Weight: norm}},
		&plan.RopeVec{In: plan.Vec{Slot: in, Stride: 6}, Out: plan.Vec{Slot: out, Stride: 6}, Heads: 2, Rope: plan.RopeAt{Table: rope, HeadDim: 6, Dim: 6}},
		&plan.CombineVec{Combine: combine, Out: plan.Vec{Slot: out, Stride: 10}, Dim: 10},
		&plan.SwiGLUVec{Gate: from, Up: from, Out: to, Dim: d, RowsPerGroup: 8},
		&plan.AddVec{A: from, B: from, Out: to, Dim: d, RowsPerGroup: 8},
		&plan.RouteVec{Gating: gating, Routing: routing},
		&plan.WeightedSum{In: plan.Vec{Slot: in, Stride: d}, Out: to, K: 2, Dim: d, Routing: routing, RowsPerGroup: 8},
		&plan.AddVec{A: from, B: from, Out: plan.Vec{Slot: logits}, Dim: 7, RowsPerGroup: 8},
	}
	return rg
}

// TestHostileOperands bends each operand of a kernel that has every part, and
// wants an error where a CPU kernel would reach memory that is not there, not a panic.
func TestHostileOperands(t *testing.T) {
	if _, err := every(t).record(1); err != nil {
		t.Fatal(err)
	}
	bends := map[string]func(*plan.Slot, *plan.Operand){
		"far offset":   func(_ *plan.Slot, op *plan.Operand) { op.Offset = 1 << 62 },
		"negative":     func(_ *plan.Slot, op *plan.Operand) { op.Offset = -4 },
		"past the end": func(_ *plan.Slot, op *plan.Operand) { op.Bytes = 1 << 40 },
		"too short":    func(_ *plan.Slot, op *plan.Operand) { op.Bytes = 4 },
		"unaligned":    func(_ *plan.Slot, op *plan.Operand) { op.Offset++ },
		"no index":     func(_ *plan.Slot, op *plan.Operand) { op.Index = -1 },
		"high index":   func(_ *plan.Slot, op *plan.Operand) { op.Index = 99 },
		"space":        func(_ *plan.Slot, op *plan.Operand) { op.Space = 99 },
		"both spaces":  func(s *plan.Slot, op *plan.Operand) { s.Space, op.Space = 99, 99 },
		"element":      func(s *plan.Slot, _ *plan.Operand) { s.Elem = 99 },
	}
	harmless := func(name string, s plan.Slot) bool {
		arena, indexed := s.Space == plan.SpaceArena, s.Space == plan.SpaceWeight || s.Space == plan.SpaceKV
		switch name {
		case "far offset", "negative", "past the end", "too short", "unaligned":
			return !arena
		case "no index", "high index":
			return !indexed
		case "element": // no CPU kernel views these by it
			return s.Elem == plan.ElemRoute || s.Space == plan.SpaceRow || s.Space == plan.SpaceArgs || s.Space == plan.SpaceTables || s.Space == plan.SpaceRope
		}
		return false
	}
	for name, bend := range bends {
		for i := range every(t).ops {
			rg := every(t)
			slot := rg.kernel.Slots[i]
			rg.finish = func(b *plan.Bundle) { bend(&b.Kernels[0].Slots[i], &b.Decode().Dispatches[0].Operands[i]) }
			if _, err := rg.record(1); (err == nil) != harmless(name, slot) {
				t.Errorf("%s of slot %d (%+v): error %v", name, i, slot, err)
			}
		}
	}
}

// TestHostileBundles checks that other changes of a bundle, by which a CPU kernel would reach missing memory,
// are errors. Package verify checks the other rules of plans.
func TestHostileBundles(t *testing.T) {
	part := func(i int) func(*rig) plan.Part { return func(rg *rig) plan.Part { return rg.kernel.Parts[i] } }
	matVec := func(rg *rig) *plan.MatVec { return part(0)(rg).(*plan.MatVec) }
	gating := func(rg *rig) *plan.Gating { return &part(11)(rg).(*plan.RouteVec).Gating }
	attend := func(rg *rig) *plan.Attend { return part(4)(rg).(*plan.Attend) }
	store := func(rg *rig) *plan.StoreKV { return part(3)(rg).(*plan.StoreKV) }
	for name, bend := range map[string]func(*rig){
		"cols":              func(rg *rig) { matVec(rg).Cols = 64 },
		"no rows per group": func(rg *rig) { matVec(rg).RowsPerGroup = 0 },
		"negative batch":    func(rg *rig) { matVec(rg).Batch = -1 },
		"huge batch":        func(rg *rig) { matVec(rg).Batch = 1 << 62 },
		"batch":             func(rg *rig) { matVec(rg).Batch = 2 },
		"slot":              func(rg *rig) { matVec(rg).W = 1000 },
		"negative slot":     func(rg *rig) { matVec(rg).In.Slot = -1 },
		"weight as output":  func(rg *rig) { matVec(rg).Out.Slot = matVec(rg).W },
		"offset":            func(rg *rig) { matVec(rg).Out.Offset = 3*32 + 1 },
		"negative offset":   func(rg *rig) { matVec(rg).Out.Offset = -1 },
		"huge offset":       func(rg *rig) { matVec(rg).Out.Offset = 1<<63 - 1 },
		"stride":            func(rg *rig) { part(1)(rg).(*plan.Experts).Out.Stride = 1 << 62 },
		"norm and combine":  func(rg *rig) { matVec(rg).Combine = &part(8)(rg).(*plan.CombineVec).Combine },
		"cache row":         func(rg *rig) { store(rg).LatDim = 11 },
		"choice":            func(rg *rig) { gating(rg).K = 5 },
		"splits":            func(rg *rig) { attend(rg).Splits.Count = 3 },
		"heads":             func(rg *rig) { attend(rg).Heads = 1 << 40 },
		"combine heads":     func(rg *rig) { part(8)(rg).(*plan.CombineVec).Combine.Heads = 0 },
		"foreign part":      func(rg *rig) { rg.kernel.Parts = append(rg.kernel.Parts, foreign{}) },
		"arena":             func(rg *rig) { rg.finish = func(b *plan.Bundle) { b.Decode().ArenaBytes = 1 << 50 } },
		"head":              func(rg *rig) { rg.finish = func(b *plan.Bundle) { b.Decode().Head = 2 } },
		"kernel":            func(rg *rig) { rg.finish = func(b *plan.Bundle) { b.Decode().Dispatches[0].Kernel = 1 } },
		"operands":          func(rg *rig) { rg.finish = func(b *plan.Bundle) { b.Decode().Dispatches[0].Operands = rg.ops[1:] } },
		"layer":             func(rg *rig) { rg.finish = func(b *plan.Bundle) { b.Weights[0].First, b.Weights[0].Last = 3, 5 } },
		"frequencies":       func(rg *rig) { rg.bundle.RopeFreqs = nil },
		"vocabulary":        func(rg *rig) { rg.bundle.Model.VocabSize = 0 },
		"context":           func(rg *rig) { rg.ctx = 0 },
		"huge context":      func(rg *rig) { rg.ctx = 1 << 60 },
		"cache type":        func(rg *rig) { rg.kv = quant.Q8_0 },
		"region":            func(rg *rig) { rg.model.Weights[0][0].Region = 9 },
		"weight offset":     func(rg *rig) { rg.model.Weights[0][0].Offset = 1 << 62 },
		"weight bytes":      func(rg *rig) { rg.model.Weights[0][0].Bytes = 10 },
		"batch stride":      func(rg *rig) { rg.model.Weights[1][0].BatchStride = 1 << 61 },
		"negative stride":   func(rg *rig) { rg.model.Weights[1][0].BatchStride = -32 },
		"norm type":         func(rg *rig) { rg.model.Weights[3][0].Type = quant.F16 },
		"unknown type":      func(rg *rig) { rg.model.Weights[0][0].Type = 77 },
		"no bindings":       func(rg *rig) { rg.finish = func(*plan.Bundle) { rg.model.Weights[0] = nil } },
	} {
		rg := every(t)
		bend(rg)
		if _, err := rg.record(1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := every(t).record(-1); err == nil {
		t.Error("negative threads: no error")
	}
}

type foreign struct{}

func (foreign) Groups() int      { return 1 }
func (foreign) Sizes() []int     { return nil }
func (foreign) Uses() []plan.Use { return nil }

func TestVariantError(t *testing.T) {
	rg := every(t)
	rg.finish = func(b *plan.Bundle) { b.Kernels[0].Variants[0].Types[0] = quant.Q6_K }
	_, err := rg.record(1)
	var v *device.VariantError
	if !errors.As(err, &v) || v.Kernel != "k" {
		t.Fatalf("error %v", err)
	}
}

// TestReplaySteps checks what a step must be and what a replay returns.
func TestReplaySteps(t *testing.T) {
	rg := every(t)
	rg.finish = func(b *plan.Bundle) { b.Decode().Head = 0 }
	r, err := rg.record(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []plan.Row{{Token: 7, NKV: 1}, {Pos: 8, NKV: 9}, {Pos: 1, NKV: 1}, {Pos: 1 << 31, NKV: 1<<31 + 1}} {
		if _, err := r.Replay([]plan.Row{s}, device.All(1)); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	step := plan.Row{Token: 6, Pos: 7, NKV: 8}
	if l, err := r.Replay([]plan.Row{step}, nil); l != nil || err != nil || r.numbers(plan.SpaceLogits)[0] != 0 {
		t.Errorf("without logits: %v, %v; buffer %v", l, err, r.numbers(plan.SpaceLogits))
	}
	if l, err := r.Replay([]plan.Row{step}, device.All(1)); len(l) != 7 || err != nil || l[0] == 0 {
		t.Errorf("with logits: %v, %v", l, err)
	}
	if r.Dispatches() != 1 || r.Bytes() < int64(len(rg.arena)+8*16*4) {
		t.Errorf("%d dispatches, %d bytes", r.Dispatches(), r.Bytes())
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Replay([]plan.Row{step}, device.All(1)); err == nil || !strings.Contains(fmt.Sprint(err), "closed") {
		t.Errorf("after Close: %v", err)
	}
}
