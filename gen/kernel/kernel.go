// Package kernel selects kernels. It turns every launch of a compiled program into a plan.Kernel (prologue ×
// body × epilogue, with slots) and a dispatch that binds operands to the slots. Launches of different layers
// share a kernel if they compute the same.
//
// The head computes only the rows whose logits are wanted: all rows of a batch, up to 16 of a prompt. A
// dispatch before it gathers its inputs for these rows (gather.go). The kernels of the head read these rows
// from SpaceWanted.
//
// Attention has a budget of registers and threads for each kernel class (gen/target, Budgets). If the kernel
// for all devices exceeds the budget of a class, the bundle has a second kernel for that class, with a
// smaller tile and more simdgroups (Kernel.Class). The device chooses by its GPU family.
package kernel

import (
	"fmt"
	"reflect"

	"mla/gen/ir"
	"mla/gen/target"
	"mla/runtime/plan"
)

// simdWidth is the number of threads of a simdgroup.
const simdWidth = target.SimdWidth

// Select adds the sequence of p to a bundle, with its kernels. All required passes must have run on p.
// Programs must be added by rising width, the one with one row first. It fails if no kernel runs a part.
func Select(p *ir.Program, b *plan.Bundle) error {
	uses := ir.Analyze(p)
	q := plan.Sequence{Width: p.Width, Head: headStart(p), ArenaBytes: p.ArenaBytes, Input: vectors(p, p.Input), Hidden: vectors(p, p.Hidden)}
	for i, s := range p.Launches {
		if i == q.Head && p.Width > 1 {
			q.Dispatches = append(q.Dispatches, gather(p, b))
		}
		k, operands, err := selectLaunch(p, uses, s, i >= q.Head)
		if err != nil {
			return fmt.Errorf("kernel %s, layer %d: %w", s.Name(), s.Layer, err)
		}
		q.Dispatches = append(q.Dispatches, plan.Dispatch{Kernel: intern(b, k), Layer: s.Layer, Barrier: s.Barrier, Operands: operands})
	}
	b.Sequences, b.Counters = append(b.Sequences, q), max(b.Counters, p.CounterBytes)
	if p.Width == 1 {
		b.RopeFreqs, b.RopeMScale = p.RopeFreqs, p.RopeMScale
	}
	return nil
}

// vectors returns where the arena has a value for every row; nil for no value.
func vectors(p *ir.Program, v *ir.Value) *plan.Vectors {
	if v == nil {
		return nil
	}
	return &plan.Vectors{Offset: v.Offset, Len: v.Len, Stride: p.Stride(v), Elem: elems[v.Elem]}
}

// headStart returns the index of the first of the launches at the end that belong to no layer: the head.
func headStart(p *ir.Program) int {
	n := len(p.Launches)
	for n > 0 && p.Launches[n-1].Layer < 0 {
		n--
	}
	return n
}

// intern returns the index of k among the bundle's kernels, and adds k if it is new. If there is another
// kernel with the same name (for layers that are fused differently), k's name gets a number.
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

// selectLaunch builds the kernel of a launch, and the operands of its dispatch. A kernel of the head computes
// the wanted rows.
func selectLaunch(p *ir.Program, uses *ir.Uses, s *ir.Launch, head bool) (plan.Kernel, []plan.Operand, error) {
	b := &builder{p: p, uses: uses, head: head, shape: p.Shape(s), matrices: p.Matrices(s), tokens: p.Tokens(s), layer: s.Layer, slots: map[*ir.Value]int{}, byWeight: map[tensor]int{},
		row: -1, rope: -1, tables: -1, maxPages: plan.Pages(p.Spec.Model.MaxPositionEmbeddings)}
	b.k = plan.Kernel{Name: s.Name(), Doc: doc(s), Threads: threads(p, s)}
	if p.Width > 1 {
		b.k.Width = p.Width
		if head {
			b.k.Width = p.Wanted()
		}
		b.k.Name += fmt.Sprintf("_x%d", b.k.Width)
		b.needRow()
	}
	for _, part := range s.Parts {
		pp, err := b.part(part)
		if err != nil {
			return b.k, nil, err
		}
		b.k.Parts = append(b.k.Parts, pp)
	}
	b.args()
	return b.k, b.operands, nil
}

// groupingThreads is the number of threads of a threadgroup that groups rows by expert. Every threadgroup
// reads the selections of all rows. There are fewer threadgroups than the cores could hold, so they can be
// large.
const groupingThreads = 512

// expandThreads is the number of threads of a threadgroup that expands heads. A simdgroup has 32 columns of a page.
const expandThreads = plan.ExpandValues

// threads returns the number of threads of a threadgroup of the kernel of s.
func threads(p *ir.Program, s *ir.Launch) int {
	for _, part := range s.Parts {
		switch {
		case part.Find(ir.Convolve) != nil && part.Find(ir.DeltaRule) == nil:
			return 4 * p.Spec.Hybrid.HeadDim // one for each channel of queries, keys, values and decays
		case part.Find(ir.DeltaRule) != nil:
			return deltaThreads(p)
		case part.Find(ir.DeltaFold) != nil:
			return p.Target().FoldThreads(p.Spec.Model.NumAttentionHeads, p.Spec.Hybrid.HeadDim)
		case part.Find(ir.GatedNorm) != nil:
			return simdWidth * min(p.Spec.Model.NumAttentionHeads, normHeads)
		case part.Find(ir.AttendSplit) != nil:
			return p.Spec.Tuning.Attention.Simdgroups * simdWidth
		case part.Find(ir.GroupExperts) != nil && part.Find(ir.RouteWeights) == nil:
			return groupingThreads
		case part.Find(ir.RouteWeights) != nil && part.Find(ir.GroupExperts) == nil && part.Find(ir.ExpertsMatVec) == nil:
			return simdWidth // one simdgroup routes a row
		case part.Find(ir.RouteWeights) != nil && part.Find(ir.GroupExperts) != nil && len(s.Parts) == 1:
			return simdWidth * p.Width // a simdgroup for each row of the batch, unless the kernel also has a product, whose shape decides
		}
		switch {
		case part.Find(ir.Attention) != nil:
			return p.Spec.Tuning.AttendHeads.Simdgroups * simdWidth
		case part.Find(ir.Expand) != nil:
			return expandThreads
		}
	}
	return p.Shape(s).Simdgroups * simdWidth
}

// rowsPerGroup returns how many output rows a threadgroup of the kernel makes.
func (b *builder) rowsPerGroup() int {
	return b.shape.RowsPerSimdgroup * b.shape.Simdgroups / b.shape.SplitK
}

// rowsOf is rowsPerGroup for a matrix with the given number of rows. If a product with 32 rows per simdgroup
// would leave simdgroups idle, they make 16 rows each, which takes half the registers and half the time.
func (b *builder) rowsOf(rows int) int {
	n := b.rowsPerGroup()
	if b.matrices && 2*rows <= n && b.shape.RowsPerSimdgroup == 32 {
		n /= 2
	}
	return n
}

// rowsOfTwo is rowsPerGroup for each of two matrices. A simdgroup of a product has 32 rows of both in all.
func (b *builder) rowsOfTwo() int {
	if b.matrices {
		return 16 * b.shape.Simdgroups / b.shape.SplitK
	}
	return b.rowsPerGroup()
}

// unroll returns how many blocks of a row a lane has in flight; 0 for the default.
func (b *builder) unroll() int {
	if b.matrices || b.shape.Unroll == plan.DefaultUnroll { // products have steps of a fixed size
		return 0
	}
	return b.shape.Unroll
}

// splitK returns how many simdgroups share a row; 0 if none do.
func (b *builder) splitK() int {
	if b.shape.SplitK > 1 {
		return b.shape.SplitK
	}
	return 0
}
