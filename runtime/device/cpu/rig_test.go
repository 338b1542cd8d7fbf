package cpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// rig builds a bundle of one kernel around hand-made parts, with random weights
// and inputs, and runs it.
type rig struct {
	t      *testing.T
	rng    *rand.Rand
	bundle plan.Bundle
	kernel plan.Kernel
	ops    []plan.Operand
	model  device.Model
	arena  []byte // what the arena holds before the first token
	kv     quant.Type
	ctx    int
	caches [][]float64        // what the caches hold before the first token; nil: zeros
	finish func(*plan.Bundle) // last changes before recording; nil: none

	command *device.Command // that of the bundle, once it is recorded
}

func newRig(t *testing.T, seed uint64) *rig {
	rg := &rig{t: t, rng: rand.New(rand.NewPCG(seed, 1)), kv: quant.F32, ctx: 8}
	rg.bundle = plan.Bundle{
		Name:        "test",
		Activations: plan.ElemF16,
		RopeFreqs:   []float64{1, 0.3, 0.01},
		RopeMScale:  1.25,
		Model:       plan.Model{Dims: plan.Dims{VocabSize: 7, NumHiddenLayers: 1, KVLoraRank: 10, QKRopeHeadDim: 6, MaxPositionEmbeddings: 200}},
	}
	rg.kernel.Name, rg.kernel.Threads = "k", 32
	return rg
}

func (rg *rig) slot(s plan.Slot, op plan.Operand) int {
	op.Space = s.Space
	s.Name = fmt.Sprintf("s%d", len(rg.ops))
	rg.kernel.Slots = append(rg.kernel.Slots, s)
	rg.ops = append(rg.ops, op)
	return len(rg.ops) - 1
}

// normal fills n numbers with standard deviation sd.
func (rg *rig) normal(n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rg.rng.NormFloat64() * sd
	}
	return x
}

// encode stores numbers as the element type and returns the bytes and what they
// now are.
func encode(half bool, x []float64) ([]byte, []float64) {
	var b []byte
	got := make([]float64, len(x))
	for i, v := range x {
		if half {
			h := quant.FloatToHalf(float32(v))
			b = binary.LittleEndian.AppendUint16(b, h)
			got[i] = float64(quant.HalfToFloat(h))
			continue
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		got[i] = float64(float32(v))
	}
	return b, got
}

// wide makes rotated keys a whole block of Q8_0.
func (rg *rig) wide() {
	rg.bundle.Model.QKRopeHeadDim, rg.bundle.RopeFreqs = 32, nil
	for i := range 16 {
		rg.bundle.RopeFreqs = append(rg.bundle.RopeFreqs, math.Pow(0.7, float64(i)))
	}
}

// encodeRows stores the rows of a cache, as its planes have them one after the other, and
// returns what the numbers now are.
func (rg *rig) encodeRows(x []float64) (rows [][]byte, got []float64) {
	width := len(x) / rg.ctx
	for ; len(x) > 0; x = x[width:] {
		var row []byte
		var numbers []float64
		if rg.kv == quant.Q8_0 {
			row, numbers = scaledRow(x[:width])
		} else {
			row, numbers = encode(rg.kv == quant.F16, x[:width])
		}
		rows, got = append(rows, row), append(got, numbers...)
	}
	return rows, got
}

func scaledRow(x []float64) (row []byte, got []float64) {
	in, out := make([]float32, len(x)), make([]float32, len(x))
	for i, v := range x {
		in[i] = float32(v)
	}
	qs, scales := make([]byte, len(x)), make([]uint16, len(x)/32)
	quant.FloatsToScaledBytes(qs, scales, in)
	linalg.ScaledBytesToFloats(out, qs, scales)
	for _, v := range out {
		got = append(got, float64(v))
	}
	row = qs
	for _, s := range scales {
		row = binary.LittleEndian.AppendUint16(row, s)
	}
	return row, got
}

// place appends bytes to the arena image and returns an operand for them.
func (rg *rig) place(b []byte) plan.Operand {
	for len(rg.arena)%16 != 0 {
		rg.arena = append(rg.arena, 0xff)
	}
	op := plan.Operand{Offset: int64(len(rg.arena)), Bytes: int64(len(b))}
	rg.arena = append(rg.arena, b...)
	return op
}

// buffer makes an arena slot with the given contents and returns them as stored.
func (rg *rig) buffer(e plan.Elem, write bool, x []float64) (int, []float64) {
	half := e == plan.ElemF16 || e == plan.ElemAct && rg.bundle.Activations == plan.ElemF16
	b, got := encode(half, x)
	return rg.slot(plan.Slot{Space: plan.SpaceArena, Elem: e, Write: write}, rg.place(b)), got
}

// in is a random input of n elements, out an output of n NaNs.
func (rg *rig) in(e plan.Elem, n int) (int, []float64) { return rg.buffer(e, false, rg.normal(n, 1)) }

func (rg *rig) out(e plan.Elem, n int) int {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN()
	}
	s, _ := rg.buffer(e, true, x)
	return s
}

// routing makes a slot of routings.
func (rg *rig) routing(write bool, r ...plan.Routing) int {
	var b []byte
	for _, e := range r {
		b = binary.LittleEndian.AppendUint32(b, e.Expert)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e.Weight))
	}
	return rg.slot(plan.Slot{Space: plan.SpaceArena, Elem: plan.ElemRoute, Write: write}, rg.place(b))
}

// weight makes a random typed weight and returns its slot and dequantised values.
func (rg *rig) weight(q quant.Type, batch, rows, cols int) (int, []float64) {
	n := batch * rows * cols
	x := make([]float32, n)
	for i, v := range rg.normal(n, 1/math.Sqrt(float64(cols))) {
		x[i] = float32(v)
	}
	return rg.tensor(q, batch, rows, cols, x)
}

// tensor is weight with given values. Entries lie a little further apart than
// they are large.
func (rg *rig) tensor(q quant.Type, batch, rows, cols int, x []float32) (int, []float64) {
	f, ok := quant.Lookup(q)
	if !ok {
		rg.t.Fatal("unknown type")
	}
	rowBytes, err := f.RowBytes(cols)
	if err != nil {
		rg.t.Fatal(err)
	}
	stride := rows*rowBytes + 32
	data := make([]byte, batch*stride)
	values := make([]float64, 0, len(x))
	for b := range batch {
		entry, part := data[b*stride:], x[b*rows*cols:(b+1)*rows*cols]
		f.Quantize(entry, part)
		back := make([]float32, len(part))
		f.Dequantize(back, entry)
		for _, v := range back {
			values = append(values, float64(v))
		}
	}
	i := len(rg.bundle.Weights)
	rg.bundle.Weights = append(rg.bundle.Weights, plan.Weight{Role: fmt.Sprintf("role%d", i), Cols: cols, Rows: rows, Batch: batch, First: -1})
	rg.model.Regions = append(rg.model.Regions, data)
	rg.model.Weights = append(rg.model.Weights, []device.Weight{{
		Tensor: fmt.Sprintf("tensor%d", i), Region: i, Bytes: int64(len(data)), Type: q, BatchStride: int64(stride)}})
	return rg.slot(plan.Slot{Space: plan.SpaceWeight, Elem: plan.ElemTyped}, plan.Operand{Index: i}), values
}

// vector makes a float32 weight vector of n elements around mean.
func (rg *rig) vector(n int, mean float64) (int, []float64) {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(mean + 0.2*rg.rng.NormFloat64())
	}
	s, v := rg.tensor(quant.F32, 1, 1, n, x)
	rg.kernel.Slots[s].Elem = plan.ElemF32
	return s, v
}

func (rg *rig) ropeSlot() int {
	return rg.slot(plan.Slot{Space: plan.SpaceRope, Elem: plan.ElemF32}, plan.Operand{})
}

func (rg *rig) cache(write bool) plan.Paged {
	return plan.Paged{
		Slot:     rg.slot(plan.Slot{Space: plan.SpaceKV, Elem: plan.ElemTyped, Write: write}, plan.Operand{}),
		Tables:   rg.slot(plan.Slot{Space: plan.SpaceTables, Elem: plan.ElemU32}, plan.Operand{}),
		MaxPages: rg.bundle.Model.MaxPages(),
	}
}

// table is the block table that tests run with, after one that they do not use.
const table = 1

// pages are the pages of the cache, the last one first.
func (rg *rig) pages() []uint32 {
	var list []uint32
	for p := plan.Pages(rg.ctx); p > 0; p-- {
		list = append(list, uint32(p-1))
	}
	return list
}

// at is where the cache row of a position is among those of the pages.
func (rg *rig) at(pos int) int {
	return int(rg.pages()[pos/plan.PageRows])*plan.PageRows + pos%plan.PageRows
}

// linear returns the cache rows of all positions, width numbers each, after a run.
func (rg *rig) linear(r *runner, slot, width int) []float64 {
	b := binder{r: r, model: &rg.model, command: rg.command}
	c := b.cache(plan.Paged{Slot: slot, Tables: slot + 1, MaxPages: rg.bundle.Model.MaxPages()}, width)
	if b.err != nil {
		rg.t.Fatal(b.err)
	}
	var rows []float64
	for pos := range rg.ctx {
		for _, v := range c.read(table, pos, 1, make([]float32, width)) {
			rows = append(rows, float64(v))
		}
	}
	return rows
}

// record finishes the bundle and records it.
func (rg *rig) record(threads int) (*runner, error) {
	b := &rg.bundle
	b.Kernels = []plan.Kernel{rg.kernel}
	d := plan.Dispatch{Operands: rg.ops}
	var types []quant.Type
	for _, s := range rg.kernel.TypedSlots() {
		if i := rg.ops[s].Index; rg.ops[s].Space == plan.SpaceWeight && i >= 0 && i < len(rg.model.Weights) {
			types = append(types, rg.model.Weights[i][0].Type)
		} else {
			types = append(types, rg.kv)
		}
	}
	b.Kernels[0].Variants = []plan.Variant{{Types: types}}
	b.Sequences = []plan.Sequence{{Width: 1, Dispatches: []plan.Dispatch{d}, Head: 1, ArenaBytes: int64(len(rg.arena))}}
	rg.model.Bundle = b
	if rg.finish != nil {
		rg.finish(b)
	}
	cfg := device.Config{Context: rg.ctx, Tables: table + 1, KV: rg.kv, Threads: threads}
	run, err := New().Load(&rg.model, cfg)
	if err != nil {
		return nil, err
	}
	l, err := rg.model.Layout(cfg)
	if err != nil {
		return nil, err
	}
	commands, err := rg.model.Commands(l, cfg, "")
	if err != nil {
		return nil, err
	}
	rg.command = &commands.Decode().Commands[0]
	r := run.(*runner)
	rg.t.Cleanup(func() { r.Close() })
	pages := rg.pages()
	for t := table; t >= 0; t-- { // the other table has them in another order
		if err := r.Assign(t, 0, pages); err != nil {
			return nil, err
		}
		slices.Reverse(pages)
	}
	copy(r.Spaces[plan.SpaceArena], rg.arena)
	for i, c := range rg.caches {
		rows, _ := rg.encodeRows(c)
		page := plan.PageRows * r.planes.RowBytes()
		for pos, row := range rows {
			from := 0
			for at, bytes := range r.planes.Rows(rg.at(pos)%plan.PageRows, 1) {
				copy(r.Caches[i][rg.at(pos)/plan.PageRows*page+at:], row[from:from+bytes])
				from += bytes
			}
		}
	}
	return r, nil
}

// run replays one token with 1, 2 and 3 workers, which must leave the same bits
// after it, and returns the last runner.
func (rg *rig) run(row plan.Row) *runner {
	rg.t.Helper()
	row.NKV, row.Table = row.Pos+1, table
	var first *runner
	for threads := 1; threads <= 3; threads++ {
		r, err := rg.record(threads)
		if err != nil {
			rg.t.Fatal(err)
		}
		if _, err := r.Replay([]plan.Row{row}, device.All(1)); err != nil {
			rg.t.Fatal(err)
		}
		if first == nil {
			first = r
			continue
		}
		if !bytes.Equal(r.Spaces[plan.SpaceArena], first.Spaces[plan.SpaceArena]) || !bytes.Equal(r.Caches[0], first.Caches[0]) {
			rg.t.Fatalf("%d workers leave other bits than one", threads)
		}
	}
	return first
}

// read returns n numbers of a slot after a run.
func (rg *rig) read(r *runner, slot, n int) []float64 {
	b := binder{r: r, model: &rg.model, command: rg.command}
	v := b.numbers(&rg.kernel.Slots[slot], &rg.command.Bindings[slot], int64(n))
	if b.err != nil {
		rg.t.Fatal(b.err)
	}
	x := make([]float64, n)
	for i, f := range v.read(0, n, make([]float32, n)) {
		x[i] = float64(f)
	}
	return x
}

// Tolerances, relative to 1+|want| for values around 1: sums of a few hundred
// float32 products are off by some 1e-6; storing a half rounds by 2^-11.
const (
	tolF32 = 2e-5
	tolF16 = 6e-4
	// Products of halves are rounded to half four by four, each sum four times by up to
	// 2^-12 of it, and these errors add up like the terms.
	tolProducts = 3e-3
)

// productTolerance is that of a mat-vec of inputs e.
func productTolerance(e plan.Elem) float64 {
	if e == plan.ElemF32 {
		return tolF32
	}
	return tolProducts
}

func tolerance(e plan.Elem) float64 {
	if e == plan.ElemF32 {
		return tolF32
	}
	return tolF16
}

func check(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s[%d] = %g, want %g (off by %g)", what, i, got[i], w, d)
		}
	}
}
