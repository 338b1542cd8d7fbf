package kernel

import (
	"fmt"
	"slices"

	"mla/gen/ir"
	"mla/runtime/plan"
)

// gatherThreads is the number of threads of a threadgroup that gathers; each moves one element.
const gatherThreads = 256

// gather returns the dispatch before the head. It copies the head's inputs for the rows whose logits are
// wanted to the front, so that the head computes only these rows.
func gather(p *ir.Program, b *plan.Bundle) plan.Dispatch {
	c := &builder{p: p, head: true, layer: -1, slots: map[*ir.Value]int{}, row: -1}
	width := p.Wanted()
	c.k = plan.Kernel{Name: fmt.Sprintf("gather_x%d", width), Threads: gatherThreads, Width: width,
		Doc: "moves what the head reads of the rows whose logits are wanted to the front: it multiplies no others."}
	c.needRow()
	for _, v := range headInputs(p) {
		c.k.Parts = append(c.k.Parts, &plan.GatherVec{Vec: c.out(v), Dim: v.Len, PerGroup: gatherThreads})
	}
	return plan.Dispatch{Kernel: intern(b, c.k), Layer: -1, Barrier: true, Operands: c.operands}
}

// headInputs lists the activations that the head reads and does not compute itself.
func headInputs(p *ir.Program) (list []*ir.Value) {
	written := map[*ir.Value]bool{}
	for _, s := range p.Launches[headStart(p):] {
		for _, op := range s.Ops() {
			for _, r := range op.In {
				if r.V.Class == ir.Act && !written[r.V] && !slices.Contains(list, r.V) {
					list = append(list, r.V)
				}
			}
			for _, v := range op.Out {
				written[v] = true
			}
		}
	}
	return list
}
