package msl

import (
	"testing"

	"mla/runtime/plan"
)

// TestRouteTies routes among 64 equal experts: the lowest numbers are chosen, also
// between two that the same thread looks at.
func TestRouteTies(t *testing.T) {
	var s slots
	p := &plan.RouteVec{Gating: *gating(&s, 1, false)}
	p.Routing = s.route(true)
	b := &plan.Bundle{Name: "ties", Activations: plan.ElemF32, Kernels: []plan.Kernel{s.kernelOf("ties", p)}}
	k := &b.Kernels[0]
	m := newMemory(k, &k.Variants[0], b.Activations, 0)
	clear(m.data[p.Gating.Logits])
	m.execute(t, executor(t, print(t, b)), k.Variants[0].Func)
	for i := range p.Gating.K {
		if e, _ := m.routing(p.Routing, i); e != i {
			t.Errorf("choice %d is expert %d of equal ones; expected %d", i, e, i)
		}
	}
}
