// Package kernel selects kernels: it turns every step of a compiled program
// into a plan.Kernel (prologue × body × epilogue, with slots) and a dispatch
// that binds its operands. Steps of different layers that do the same share one
// kernel.
package kernel

import (
	"fmt"
	"reflect"
	"slices"

	"mla/gen/ir"
	"mla/runtime/plan"
)

// simdWidth is the number of threads of a simdgroup on every Apple GPU.
const simdWidth = 32

// Select adds the sequence of a program that all required passes have run on to a bundle,
// with its kernels. Programs come by rising width, that of one row first.
func Select(p *ir.Program, b *plan.Bundle) error {
	uses := ir.Analyze(p)
	q := plan.Sequence{Width: p.Width, Head: headStart(p), ArenaBytes: p.ArenaBytes}
	for _, s := range p.Steps {
		k, operands, err := selectStep(p, uses, s)
		if err != nil {
			return fmt.Errorf("kernel %s, layer %d: %w", s.Name(), s.Layer, err)
		}
		q.Dispatches = append(q.Dispatches, plan.Dispatch{Kernel: intern(b, k), Layer: s.Layer, Barrier: s.Barrier, Operands: operands})
	}
	if p.Width > 1 {
		b.Batches = append(b.Batches, q)
		return nil
	}
	b.Decode, b.Head, b.ArenaBytes, b.Counters = q.Dispatches, q.Head, q.ArenaBytes, p.CounterBytes
	b.RopeFreqs, b.RopeMScale = p.RopeFreqs, p.RopeMScale
	return nil
}

// headStart is the first of the trailing steps that belong to no layer.
func headStart(p *ir.Program) int {
	n := len(p.Steps)
	for n > 0 && p.Steps[n-1].Layer < 0 {
		n--
	}
	return n
}

// intern returns the index of k among the bundle's kernels. Kernels of one name
// that differ (layers fused differently) get a number.
func intern(b *plan.Bundle, k plan.Kernel) int {
	base := k.Name
	for n := 2; ; n++ {
		i := indexOf(b.Kernels, k.Name)
		if i < 0 {
			b.Kernels = append(b.Kernels, k)
			return len(b.Kernels) - 1
		}
		if reflect.DeepEqual(b.Kernels[i], k) {
			return i
		}
		k.Name = fmt.Sprintf("%s_%d", base, n)
	}
}

func indexOf(kernels []plan.Kernel, name string) int {
	for i := range kernels {
		if kernels[i].Name == name {
			return i
		}
	}
	return -1
}

// selectStep builds one kernel and the operands of its dispatch.
func selectStep(p *ir.Program, uses *ir.Uses, s *ir.Step) (plan.Kernel, []plan.Operand, error) {
	b := &builder{p: p, uses: uses, shape: p.Shape(s), layer: s.Layer, slots: map[*ir.Value]int{}, byWeight: map[tensor]int{},
		row: -1, rope: -1, tables: -1, maxPages: plan.Pages(p.Spec.Model.MaxPositionEmbeddings)}
	b.k = plan.Kernel{Name: s.Name(), Doc: doc(s), Threads: threads(p, s)}
	if p.Width > 1 {
		b.k.Name += fmt.Sprintf("_x%d", p.Width)
		b.k.Width = p.Width
		b.needRow()
	}
	for _, part := range s.Parts {
		pp, err := b.part(part)
		if err != nil {
			return b.k, nil, err
		}
		if part.Tail == nil {
			b.k.Parts = append(b.k.Parts, pp)
			continue
		}
		b.k.Tails = append(b.k.Tails, plan.Tail{Part: pp, After: slices.Index(s.Parts, part.Tail.After), Counters: b.counters(part.Tail.Counters)})
	}
	b.args()
	return b.k, b.operands, nil
}

func threads(p *ir.Program, s *ir.Step) int {
	for _, part := range s.Parts {
		if part.Find(ir.AttendSplit) != nil {
			return p.Spec.Tuning.Attention.Simdgroups * simdWidth
		}
	}
	return p.Shape(s).Simdgroups * simdWidth
}

// rowsPerGroup is how many output rows a threadgroup of the kernel makes.
func (b *builder) rowsPerGroup() int {
	return b.shape.RowsPerSimdgroup * b.shape.Simdgroups / b.shape.SplitK
}

// unroll is how many blocks of a row are under way; 0 if as many as by default.
func (b *builder) unroll() int {
	if b.p.Width > 1 { // the inputs of a block are under way together
		return max(1, plan.DefaultUnroll/b.k.Tile())
	}
	if b.shape.Unroll == plan.DefaultUnroll {
		return 0
	}
	return b.shape.Unroll
}

// splitK is how many simdgroups share a row; 0 if none do.
func (b *builder) splitK() int {
	if b.shape.SplitK > 1 {
		return b.shape.SplitK
	}
	return 0
}
