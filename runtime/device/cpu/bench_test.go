package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// youtu builds the fused decode plan of a model with Youtu-LLM-2B's shapes, by
// hand and with fewer layers: eight dispatches per layer and a Q6_K head.
type youtu struct {
	bundle plan.Bundle
	model  device.Model
	bytes  int64 // of the weights that a token reads
	rng    *rand.Rand
}

const (
	hidden, qRank, kvRank, nope, pe, vDim, heads, inner = 2048, 1536, 512, 128, 64, 128, 16, 6144
	vocab                                               = 128256
)

// arg is one slot of a kernel together with its operand.
type arg struct {
	slot plan.Slot
	op   plan.Operand
}

// weight appends a tensor whose rows repeat a few random ones.
func (y *youtu) weight(q quant.Type, batch, rows, cols int) arg {
	f, _ := quant.Lookup(q)
	x := make([]float32, 16*cols)
	for i := range x {
		x[i] = float32(y.rng.NormFloat64()) * 0.02
	}
	rowBytes := cols / f.BlockElems * f.BlockBytes
	data := make([]byte, batch*rows*rowBytes)
	f.Quantize(data[:min(16, rows)*rowBytes], x[:min(16, rows)*cols])
	for n := 16 * rowBytes; n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
	i := len(y.model.Regions)
	y.model.Regions = append(y.model.Regions, data)
	y.bundle.Weights = append(y.bundle.Weights, plan.Weight{Role: fmt.Sprint(i), Cols: cols, Rows: rows, Batch: batch, First: -1})
	y.model.Weights = append(y.model.Weights, []device.Weight{{Tensor: fmt.Sprint(i), Region: i, Bytes: int64(len(data)), Type: q, BatchStride: int64(rows * rowBytes)}})
	y.bytes += int64(len(data))
	return arg{plan.Slot{Space: plan.SpaceWeight, Elem: plan.ElemTyped}, plan.Operand{Space: plan.SpaceWeight, Index: i}}
}

// buffer reserves n float32 in the arena.
func (y *youtu) buffer(n int) arg {
	op := plan.Operand{Space: plan.SpaceArena, Offset: y.bundle.Decode().ArenaBytes, Bytes: int64(4 * n)}
	y.bundle.Decode().ArenaBytes += op.Bytes
	return arg{plan.Slot{Space: plan.SpaceArena, Write: true}, op}
}

// launch appends a kernel of its own and a dispatch of it. Slot i is args[i].
func (y *youtu) launch(name string, args []arg, parts ...plan.Part) {
	k := plan.Kernel{Name: name, Threads: 32, Parts: parts, Variants: []plan.Variant{{}}}
	d := plan.Dispatch{Kernel: len(y.bundle.Kernels), Barrier: true}
	for _, a := range args {
		k.Slots = append(k.Slots, a.slot)
		d.Operands = append(d.Operands, a.op)
		if a.slot.Elem == plan.ElemTyped {
			t := quant.F16
			if a.slot.Space == plan.SpaceWeight {
				t = y.model.Weights[a.op.Index][0].Type
			}
			k.Variants[0].Types = append(k.Variants[0].Types, t)
		}
	}
	y.bundle.Kernels = append(y.bundle.Kernels, k)
	y.bundle.Decode().Dispatches = append(y.bundle.Decode().Dispatches, d)
}

// cacheOf is the latent cache of a layer.
func cacheOf(layer int) arg {
	return arg{plan.Slot{Space: plan.SpaceKV, Elem: plan.ElemTyped, Write: true}, plan.Operand{Space: plan.SpaceKV, Index: layer}}
}

// tableSlot is that of the block tables, and pagedBy a cache with them.
var tableSlot = arg{plan.Slot{Space: plan.SpaceTables, Elem: plan.ElemU32}, plan.Operand{Space: plan.SpaceTables}}

func pagedBy(slot, tables int) plan.Paged {
	return plan.Paged{Slot: slot, Tables: tables, MaxPages: plan.Pages(longest)}
}

const longest = 1 << 16 // positions of the model

// emptyYoutu is a plan without dispatches.
func emptyYoutu(layers int) *youtu {
	y := &youtu{rng: rand.New(rand.NewPCG(1, 2))}
	y.bundle = plan.Bundle{Name: "youtu", Sequences: []plan.Sequence{{Width: 1}}, RopeFreqs: make([]float64, pe/2), RopeMScale: 1,
		Model: plan.Model{Dims: plan.Dims{VocabSize: vocab, NumHiddenLayers: layers, KVLoraRank: kvRank, QKRopeHeadDim: pe, MaxPositionEmbeddings: longest}}}
	y.model.Bundle = &y.bundle
	return y
}

func newYoutu(layers int) *youtu {
	y := emptyYoutu(layers)
	splits := plan.Splits{Count: 16, Tile: 32}
	x, qa, kv, q := y.buffer(hidden), y.buffer(qRank), y.buffer(kvRank+pe), y.buffer(heads*(nope+pe))
	abs, out, ml := y.buffer(heads*kvRank), y.buffer(splits.Count*heads*kvRank), y.buffer(splits.Count*heads*2)
	o, h := y.buffer(heads*vDim), y.buffer(inner)
	rope := arg{plan.Slot{Space: plan.SpaceRope}, plan.Operand{Space: plan.SpaceRope}}
	norm := func(n int) arg { return y.weight(quant.F32, 1, 1, n) }
	head := y.weight(quant.Q6_K, 1, vocab, hidden)
	y.launch("embed", []arg{head, x}, &plan.Embed{W: 0, Out: plan.Vec{Slot: 1}, Dim: hidden, RowsPerGroup: 256})
	matVec := func(rows, cols, in, out int) *plan.MatVec {
		return &plan.MatVec{Product: plan.Product{Rows: rows, Cols: cols, RowsPerGroup: 8, In: plan.Vec{Slot: in}, Out: plan.Vec{Slot: out}, Up: -1}, Batch: 1, Add: -1}
	}
	q4 := func(batch, rows, cols int) arg { return y.weight(quant.Q4_0, batch, rows, cols) }
	for l := range layers {
		cache := cacheOf(l)
		a, b := matVec(qRank, hidden, 2, 3), matVec(kvRank+pe, hidden, 2, 4)
		a.W, b.W, a.Norm, b.Norm = 0, 1, &plan.Norm{Weight: 5}, &plan.Norm{Weight: 5}
		y.launch("qkv_a", []arg{q4(1, qRank, hidden), q4(1, kvRank+pe, hidden), x, qa, kv, norm(hidden)}, a, b)

		c := matVec(heads*(nope+pe), qRank, 1, 2)
		c.Norm, c.Rope = &plan.Norm{Weight: 3}, &plan.RopeAt{Table: 4, HeadDim: nope + pe, Dim: pe}
		store := &plan.StoreKV{Lat: plan.Vec{Slot: 5}, KPe: plan.Vec{Slot: 5, Offset: kvRank}, LatDim: kvRank, PeDim: pe, Cache: pagedBy(6, 8),
			Norm: &plan.Norm{Weight: 7}, Rope: &plan.RopeAt{Table: 4, HeadDim: pe, Dim: pe}}
		y.launch("q_b", []arg{q4(1, heads*(nope+pe), qRank), qa, q, norm(qRank), rope, kv, cache, norm(kvRank), tableSlot}, c, store)

		d := matVec(kvRank, nope, 1, 2)
		d.Batch, d.In.Stride, d.Out.Stride = heads, nope+pe, kvRank
		y.launch("k_b", []arg{q4(heads, kvRank, nope), q, abs}, d)

		y.launch("attend", []arg{abs, q, cache, out, ml, tableSlot}, &plan.Attend{QAbs: plan.Vec{Slot: 0, Stride: kvRank}, QPe: plan.Vec{Slot: 1, Offset: nope, Stride: nope + pe},
			Heads: heads, LatDim: kvRank, PeDim: pe, Scale: 0.07, Cache: pagedBy(2, 5), Out: 3, ML: 4, Splits: splits})

		e := matVec(vDim, kvRank, 0, 1)
		e.Batch, e.Out.Stride, e.Combine = heads, vDim, &plan.Combine{Out: 2, ML: 3, Splits: splits, Heads: heads}
		y.launch("v_b", []arg{q4(heads, vDim, kvRank), o, out, ml}, e)

		f := matVec(hidden, heads*vDim, 1, 2)
		f.Add = 2
		y.launch("o_proj", []arg{q4(1, hidden, heads*vDim), o, x}, f)

		g := matVec(inner, hidden, 2, 3)
		g.Up, g.Norm = 1, &plan.Norm{Weight: 4}
		y.launch("gate_up", []arg{q4(1, inner, hidden), q4(1, inner, hidden), x, h, norm(hidden)}, g)

		i := matVec(hidden, inner, 1, 2)
		i.Add = 2
		y.launch("down", []arg{q4(1, hidden, inner), h, x}, i)
	}
	y.bundle.Decode().Head = len(y.bundle.Decode().Dispatches)
	last := matVec(vocab, hidden, 1, 2)
	last.Norm = &plan.Norm{Weight: 3}
	logits := arg{plan.Slot{Space: plan.SpaceLogits, Write: true}, plan.Operand{Space: plan.SpaceLogits}}
	y.launch("head", []arg{head, x, logits, norm(hidden)}, last)
	return y
}

// BenchmarkYoutu decodes with 4 of the 32 layers, whose weights are larger than
// any cache, and predicts the whole model from the time of layers and head.
func BenchmarkYoutu(b *testing.B) {
	const layers = 4
	y := newYoutu(layers)
	best, all := linalg.Backend(), runtime.GOMAXPROCS(0)
	defer linalg.SetBackend(best)
	for _, c := range []struct {
		backend        string
		threads, depth int
	}{{best, 1, 0}, {best, all, 0}, {best, all, 4096}, {"avx2", all, 0}, {"avx2", all, 4096}, {"go", all, 0}} {
		if linalg.SetBackend(c.backend) != nil {
			continue // not on this machine
		}
		b.Run(fmt.Sprintf("%s/threads=%d/depth=%d", c.backend, c.threads, c.depth), func(b *testing.B) {
			r, err := device.LoadSingle(New(), &y.model, device.Config{Context: c.depth + 256, KV: quant.F16, Threads: c.threads})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			var body, whole time.Duration
			n := 0
			for b.Loop() {
				pos := uint32(c.depth + n%256)
				step := plan.Row{Token: 5, Pos: pos, NKV: pos + 1}
				start := time.Now()
				for _, logits := range []bool{false, true} {
					if _, err := r.Replay([]plan.Row{step}, device.AllIf(logits, 1)); err != nil {
						b.Fatal(err)
					}
					if !logits {
						body += time.Since(start)
						start = time.Now()
					}
				}
				whole += time.Since(start)
				n++
			}
			token := whole.Seconds()/float64(n) + body.Seconds()/float64(n)*(32/layers-1)
			b.ReportMetric(float64(y.bytes)*float64(n)/whole.Seconds()/1e9, "GB/s")
			b.ReportMetric(1/token, "tok/s-predicted")
		})
	}
}

// BenchmarkAttend measures one core on attention alone, with the heads of
// Youtu-LLM-2B and of GLM-4.7-Flash.
func BenchmarkAttend(b *testing.B) {
	const depth = 4096
	defer linalg.SetBackend(linalg.Backend())
	for _, backend := range []string{"avx512", "avx2", "go"} {
		if linalg.SetBackend(backend) != nil {
			continue // not on this machine
		}
		for _, n := range []int{heads, 20} {
			b.Run(fmt.Sprintf("%s/heads=%d", backend, n), func(b *testing.B) {
				y := emptyYoutu(1)
				splits := plan.Splits{Count: 32, Tile: 16}
				abs, q, out, ml := y.buffer(n*kvRank), y.buffer(n*pe), y.buffer(splits.Count*n*kvRank), y.buffer(splits.Count*n*2)
				y.launch("attend", []arg{abs, q, cacheOf(0), out, ml, tableSlot}, &plan.Attend{QAbs: plan.Vec{Slot: 0, Stride: kvRank}, QPe: plan.Vec{Slot: 1, Stride: pe},
					Heads: n, LatDim: kvRank, PeDim: pe, Scale: 0.07, Cache: pagedBy(2, 5), Out: 3, ML: 4, Splits: splits})
				r, err := device.LoadSingle(New(), &y.model, device.Config{Context: depth, KV: quant.F16, Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				for b.Loop() {
					if _, err := r.Replay([]plan.Row{{Pos: depth - 1, NKV: depth}}, device.All(1)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*depth*float64(n)*(2*kvRank+pe)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

// nothing is a CPU kernel of two units without work.
type nothing struct{}

func (nothing) size() (units, cost int) { return 2, 0 }
func (nothing) run(_ *worker, _, _ int) {}

// BenchmarkBarrier measures what a phase costs beyond its work.
func BenchmarkBarrier(b *testing.B) {
	const phases = 250
	ph, err := cut([]kernel{nothing{}}, 2)
	if err != nil {
		b.Fatal(err)
	}
	for threads := 1; threads <= 4; threads *= 2 {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			workers := make([]*worker, threads)
			for i := range workers {
				workers[i] = newWorker(needs{})
			}
			p := newPool([]sequence{{width: 1, phases: slices.Repeat([]phase{ph}, phases)}}, workers)
			defer p.close()
			n := 0
			for b.Loop() {
				p.run(0, make([]plan.Row, 1), nil, phases)
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*phases), "ns/phase")
		})
	}
}
