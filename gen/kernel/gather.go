package kernel

import (
	"fmt"
	"slices"

	"mla/gen/ir"
	"mla/runtime/plan"
)

// gatherThreads are the threads of a threadgroup that gathers, one per element.
const gatherThreads = 256

// gather is the dispatch in front of the head: it moves what the head reads of the rows
// whose logits are wanted to the front, so that the head computes no others.
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

// headInputs are the activations that the head reads and does not compute itself.
func headInputs(p *ir.Program) (list []*ir.Value) {
	written := map[*ir.Value]bool{}
	for _, s := range p.Launches[headStart(p):] {
		for _, part := range s.Parts {
			for _, op := range part.Ops {
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
	}
	return list
}
