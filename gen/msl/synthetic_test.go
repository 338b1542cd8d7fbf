package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// slots collects the slots of a kernel under test.
type slots []plan.Slot

func (s *slots) add(name string, space plan.Space, e plan.Elem, write bool) int {
	*s = append(*s, plan.Slot{Name: name, Space: space, Elem: e, Write: write})
	return len(*s) - 1
}

func (s *slots) weight(name string) int { return s.add(name, plan.SpaceWeight, plan.ElemTyped, false) }
func (s *slots) cache(write bool) plan.Paged {
	return plan.Paged{Slot: s.add("cache", plan.SpaceKV, plan.ElemTyped, write), Tables: s.add("tables", plan.SpaceTables, plan.ElemU32, false), MaxPages: testPages}
}
func (s *slots) vector(name string) int { return s.add(name, plan.SpaceWeight, plan.ElemF32, false) }
func (s *slots) in(name string) plan.Vec {
	return plan.Vec{Slot: s.add(name, plan.SpaceArena, plan.ElemAct, false)}
}
func (s *slots) out(name string) plan.Vec {
	return plan.Vec{Slot: s.add(name, plan.SpaceArena, plan.ElemAct, true)}
}
func (s *slots) floats(name string, write bool) int {
	return s.add(name, plan.SpaceArena, plan.ElemF32, write)
}
func (s *slots) normPartial(group int) *plan.NormPartial {
	return &plan.NormPartial{Weight: s.vector("w_next"), Ready: s.out("ready").Slot, Squares: s.floats("next_squares", true), Group: group}
}
func (s *slots) route(write bool) int {
	return s.add("routing", plan.SpaceArena, plan.ElemRoute, write)
}
func (s *slots) step() {
	if !slices.ContainsFunc(*s, func(sl plan.Slot) bool { return sl.Space == plan.SpaceRow }) {
		s.add("step", plan.SpaceRow, plan.ElemRow, false)
	}
}
func (s *slots) args() { s.add("args", plan.SpaceArgs, plan.ElemArgs, false) }
func (s *slots) rope(headDim, dim int) *plan.RopeAt {
	s.step()
	return &plan.RopeAt{Table: s.add("rope", plan.SpaceRope, plan.ElemF32, false), HeadDim: headDim, Dim: dim}
}

// everyType lists variants over all formats; n is the number of typed slots.
func everyType(name string, n int) []plan.Variant {
	var list []plan.Variant
	for _, f := range quant.Formats() {
		v := plan.Variant{Func: name + "_" + f.Name}
		for range n {
			v.Types = append(v.Types, f.Type)
		}
		list = append(list, v)
	}
	return list
}

// kernel completes a kernel over all formats. Without args, it has the batch strides that its parts need.
func (s slots) kernel(name string, args []int, parts ...plan.Part) plan.Kernel {
	if args == nil {
		args = strides(parts)
	}
	if len(args) > 0 && !slices.ContainsFunc(s, func(sl plan.Slot) bool { return sl.Space == plan.SpaceArgs }) {
		s.args()
	}
	k := plan.Kernel{Name: name, Doc: "Synthetic kernel " + name + ": it holds one composition of pieces, to see that the front end takes it and that its lines of comment are wrapped.",
		Threads: 128, Slots: s, Args: args, Parts: parts}
	k.Variants = everyType(name, len(k.TypedSlots()))
	return k
}

// strides lists the weights of parts that have a matrix per expert or head.
func strides(parts []plan.Part) (list []int) {
	for _, p := range parts {
		for _, w := range plan.WeightsOf(p) {
			if w.Entries != 1 {
				list = append(list, w.Slot)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// cacheKernel is kernel with the types that its cache can have.
func (s slots) cacheKernel(name string, parts ...plan.Part) plan.Kernel {
	k := s.kernel(name, nil, parts...)
	k.Variants = nil
	for _, t := range verify.CacheTypes(&k) {
		k.Variants = append(k.Variants, plan.Variant{Func: name + "_" + t.String(), Types: []quant.Type{t}})
	}
	return k
}

// matVecs are mat-vecs with every prologue and every epilogue.
func matVecs() []plan.Kernel {
	var list []plan.Kernel
	for _, prologue := range []string{"plain", "norm", "ready", "long_norm", "combine"} {
		for _, epilogue := range []string{"store", "swiglu", "relu", "rope", "add", "hand", "add_hand"} {
			if prologue != "ready" && strings.HasSuffix(epilogue, "hand") || prologue == "ready" && epilogue == "store" {
				continue // the first half of a norm is tried with the second
			}
			var s slots
			cols := map[string]int{"long_norm": 7168}[prologue]
			p := &plan.MatVec{W: s.weight("w"), Product: plan.Product{Rows: 50, Cols: max(cols, 512), RowsPerGroup: 8, Up: -1}, Batch: 1, Add: -1}
			p.In, p.Out = s.in("in"), s.out("out")
			switch prologue {
			case "norm", "long_norm":
				p.Norm = &plan.Norm{Weight: s.vector("w_norm"), Eps: 1e-6}
			case "ready":
				p.NormApply = &plan.NormApply{Squares: s.floats("squares", false), Count: 130, Eps: 1e-6}
			case "combine":
				s.step()
				p.Combine = &plan.Combine{Out: s.in("splits").Slot, ML: s.floats("ml", false), Splits: plan.Splits{Count: 8, Tile: 16}, Heads: 5}
				p.Batch, p.Out.Stride = 5, 60
			}
			switch epilogue {
			case "swiglu":
				p.Up = s.weight("w_up")
			case "relu":
				p.SquaredReLU = true
			case "rope":
				p.Rope = s.rope(10, 4)
			case "add":
				p.Add = s.in("residual").Slot
			case "add_hand":
				p.Add, p.NormPartial = s.in("residual").Slot, s.normPartial(2)
			case "hand":
				s[p.Out.Slot].Write = false // the sum goes nowhere but into the norm
				p.Out.Slot, p.NormPartial = -1, s.normPartial(1)
			}
			list = append(list, s.kernel("matvec_"+prologue+"_"+epilogue, nil, p))
		}
	}
	return list
}

func gating(s *slots, groups int, sigmoid bool) *plan.Gating {
	g := &plan.Gating{Logits: s.floats("logits", false), Bias: -1, Experts: 64, K: 6, Sigmoid: sigmoid, Normalize: sigmoid, Scale: 1, Groups: groups, KGroups: max(1, groups/2)}
	if sigmoid {
		g.Bias, g.Scale = s.vector("bias"), 1.8
	}
	return g
}

// expertKernels are the kernels of an MoE layer, two of them with several parts.
func expertKernels() []plan.Kernel {
	var list []plan.Kernel
	for i, sigmoid := range []bool{false, true} {
		var s slots
		e := &plan.Experts{W: s.weight("w_gate"), Product: plan.Product{Up: s.weight("w_up"), Rows: 20, Cols: 256, RowsPerGroup: 16, In: s.in("x"), Out: s.out("h")}, K: 6}
		if sigmoid {
			e.NormApply = &plan.NormApply{Squares: s.floats("squares", false), Count: 64, Eps: 1e-5}
		} else {
			e.Norm = &plan.Norm{Weight: s.vector("w_norm"), Eps: 1e-5}
		}
		e.Gating, e.Routing = gating(&s, 1+7*i, sigmoid), s.route(true)
		e.Out.Stride = 20
		shared := &plan.MatVec{W: s.weight("w_shared"), Product: plan.Product{Up: -1, Rows: 30, Cols: 256, RowsPerGroup: 16, In: e.In, Out: s.out("hs")}, Add: -1, Batch: 1}
		s.args()
		list = append(list, s.kernel(fmt.Sprintf("experts_%d", i), []int{e.W, e.Up}, e, shared))
	}
	var s slots
	e := &plan.Experts{W: s.weight("w"), Product: plan.Product{Up: -1, Rows: 20, Cols: 256, RowsPerGroup: 16, In: s.in("x"), Out: s.out("h")}, K: 6, Routing: s.route(false)}
	e.Out.Stride = 20
	list = append(list, s.kernel("experts_plain", nil, e))
	for _, full := range []bool{true, false} {
		var s slots
		p := &plan.ExpertsSum{W: s.weight("w"), Product: plan.Product{Rows: 20, Cols: 256, RowsPerGroup: 16, In: s.in("h"), Out: s.out("y"), Up: -1}, K: 6, Routing: s.route(false), Shared: -1, Add: -1}
		p.In.Stride = 256
		if full {
			p.Shared, p.SharedCols, p.SharedIn, p.Add = s.weight("w_shared"), 512, s.in("hs"), s.in("residual").Slot
			p.NormPartial = s.normPartial(4)
		}
		s.args()
		list = append(list, s.kernel(fmt.Sprintf("experts_sum_%t", full), []int{p.W}, p))
	}
	return list
}

// attentionKernels write and read the cache.
func attentionKernels() []plan.Kernel {
	var list []plan.Kernel
	for _, shape := range []struct {
		name           string
		fused          bool
		peDim, threads int
	}{
		{"store_kv_true", true, 64, 128},
		{"store_kv_false", false, 64, 128},
		{"store_kv_wide", true, 96, 32}, // some threads turn two pairs
	} {
		var s slots
		p := &plan.StoreKV{Lat: s.in("kv"), KPe: s.in("pe"), LatDim: 512, PeDim: shape.peDim, Cache: s.cache(true)}
		if shape.fused {
			p.Norm, p.Rope = &plan.Norm{Weight: s.vector("w_norm"), Eps: 1e-6}, s.rope(shape.peDim, shape.peDim)
		} else {
			s.step()
		}
		k := s.cacheKernel(shape.name, p)
		k.Threads = shape.threads
		list = append(list, k)
	}
	for _, shape := range [][4]int{{4, 64, 16, 4}, {5, 128, 32, 1}, {16, 512, 64, 16}, {20, 512, 64, 8}, {40, 256, 64, 16}} {
		list = append(list, attendKernel(fmt.Sprintf("attend_%d_%d", shape[0], shape[1]), shape[0], shape[1], shape[2], shape[3], plan.Splits{Count: 8, Tile: 16}))
	}
	return list
}

// temperature makes the scores of attendKernel's kernels grow slowly with the position.
var temperature = plan.Temperature{Scale: 0.1, Length: 3}

// attendKernel attends on caches of all types.
func attendKernel(name string, heads, lat, pe, simdgroups int, splits plan.Splits) plan.Kernel {
	var s slots
	p := &plan.Attend{Heads: heads, LatDim: lat, PeDim: pe, Scale: 0.0721688, Splits: splits, Temperature: temperature,
		QAbs: s.in("q_abs"), QPe: s.in("q"), Cache: s.cache(false), Out: s.out("splits").Slot, ML: s.floats("ml", true)}
	p.QAbs.Stride, p.QPe.Offset, p.QPe.Stride = lat, 8, pe+8
	s.step()
	k := s.cacheKernel(name, p)
	k.Threads = simdgroups * 32
	return k
}

// singleKernels are the parts that stand alone.
func singleKernels() []plan.Kernel {
	var e, h, n, r, c, g, a, w, o, q slots
	e.step()
	h.step()
	return []plan.Kernel{
		e.kernelOf("embed", &plan.Embed{W: e.weight("w"), Scale: 12, Out: e.out("x"), Dim: 512, RowsPerGroup: 128}),
		h.kernelOf("embed_hand", &plan.Embed{W: h.weight("w"), Scale: 1.5, Out: h.out("x"), Dim: 512, RowsPerGroup: 128, NormPartial: h.normPartial(4)}),
		n.kernelOf("norm", &plan.NormVec{In: n.in("x"), Out: n.out("y"), Dim: 300, Norm: plan.Norm{Weight: n.vector("w"), Eps: 1e-6}}),
		r.kernelOf("rope", ropeVec(&r)),
		c.kernelOf("combine", combineVec(&c)),
		g.kernelOf("swiglu", &plan.SwiGLUVec{Gate: g.in("gate"), Up: g.in("up"), Out: g.out("h"), Dim: 300, RowsPerGroup: 128}),
		a.kernelOf("add", &plan.AddVec{A: a.in("a"), B: a.in("b"), Out: a.out("y"), Dim: 300, RowsPerGroup: 128}),
		w.kernelOf("weighted_sum", &plan.WeightedSum{In: plan.Vec{Slot: w.in("x").Slot, Stride: 300}, Out: w.out("y"), K: 6, Dim: 300, Routing: w.route(false), RowsPerGroup: 128}),
		o.kernelOf("route", &plan.RouteVec{Gating: *gating(&o, 8, true), Routing: o.route(true)}),
		q.kernelOf("route_softmax", &plan.RouteVec{Gating: *gating(&q, 4, false), Routing: q.route(true)}),
	}
}

func combineVec(s *slots) plan.Part {
	s.step()
	return &plan.CombineVec{Combine: plan.Combine{Out: s.in("splits").Slot, ML: s.floats("ml", false), Splits: plan.Splits{Count: 8, Tile: 16}, Heads: 5},
		Out: plan.Vec{Slot: s.out("o").Slot, Stride: 64}, Dim: 64}
}

func ropeVec(s *slots) plan.Part {
	p := &plan.RopeVec{In: s.in("x"), Out: s.out("y"), Heads: 5, Rope: *s.rope(96, 32)}
	p.In.Stride, p.Out.Stride = 96, 96
	return p
}

// kernelOf is kernel for one part; without typed slots it has a single variant.
func (s *slots) kernelOf(name string, p plan.Part) plan.Kernel {
	k := s.kernel(name, nil, p)
	if len(k.TypedSlots()) == 0 {
		k.Variants = []plan.Variant{{Func: name + "_kernel"}}
	}
	return k
}

// splitKernels are kernels whose simdgroups share rows by twos and fours, of one format.
func splitKernels() []plan.Kernel {
	var list []plan.Kernel
	for i, k := range slices.Concat(matVecs(), expertKernels()) {
		k.Name = "split_" + k.Name
		k.Variants = slices.DeleteFunc(everyType(k.Name, len(k.TypedSlots())), func(v plan.Variant) bool { return v.Types[0] != quant.Q4_0 })
		for _, p := range k.Parts {
			n := 2 + 2*(i%2)
			switch p := p.(type) {
			case *plan.MatVec:
				p.SplitK = n
			case *plan.Experts:
				p.SplitK = n
			case *plan.ExpertsSum:
				p.SplitK = n
			}
		}
		list = append(list, k)
	}
	return list
}

// synthetic is a bundle of all kinds of parts × all formats × all pieces.
func synthetic(act plan.Elem) *plan.Bundle {
	b := &plan.Bundle{Name: "synthetic", Activations: act}
	for _, list := range [][]plan.Kernel{matVecs(), expertKernels(), splitKernels(), attentionKernels(), singleKernels()} {
		b.Kernels = append(b.Kernels, list...)
	}
	return b
}
