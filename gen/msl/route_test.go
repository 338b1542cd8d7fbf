package msl

import (
	"math"
	"testing"

	"mla/runtime/plan"
)

// TestRouteOrder picks experts best first: of equal ones the lowest numbers, also
// between two that the same thread looks at, and those of tiny weights by their logits,
// whose softmax is 0 for all but one.
func TestRouteOrder(t *testing.T) {
	var s slots
	p := &plan.RouteVec{Gating: *gating(&s, 1, false)}
	p.Routing = s.route(true)
	b := &plan.Bundle{Name: "order", Activations: plan.ElemF32, Kernels: []plan.Kernel{s.kernelOf("order", p)}}
	e := executor(t, print(t, b))
	mixed := func(e int) int { return e * 37 % p.Gating.Experts }
	for name, c := range map[string]struct {
		rank  func(e int) int // of an expert among all
		logit func(rank int) float64
	}{
		"equal":         {func(e int) int { return e }, func(int) float64 { return 0 }},
		"signs of zero": {func(e int) int { return e }, func(rank int) float64 { return math.Copysign(0, float64(rank%2)-0.5) }},
		"tiny":          {mixed, func(rank int) float64 { return -200 * float64(rank) }},
		"positive":      {mixed, func(rank int) float64 { return 100 - float64(rank) }},
	} {
		k := &b.Kernels[0]
		m := newMemory(k, &k.Variants[0], b.Activations, 0)
		for i := range p.Gating.Experts {
			m.set(p.Gating.Logits, i, c.logit(c.rank(i)))
		}
		m.execute(t, e, k.Variants[0].Func)
		for i := range p.Gating.K {
			if expert, _ := m.routing(p.Routing, i); c.rank(expert) != i {
				t.Errorf("%s: choice %d is expert %d, of rank %d", name, i, expert, c.rank(expert))
			}
		}
	}
}

// TestRouteOdd has experts that the 32 threads of a simdgroup cannot share evenly. All logits
// are far below 0, so that a number that belongs to no expert would be the largest.
func TestRouteOdd(t *testing.T) {
	var s slots
	p := &plan.RouteVec{Gating: *gating(&s, 1, false)}
	p.Gating.Experts = 40
	p.Routing = s.route(true)
	b := &plan.Bundle{Name: "odd", Activations: plan.ElemF32, Kernels: []plan.Kernel{s.kernelOf("odd", p)}}
	k := &b.Kernels[0]
	m := newMemory(k, &k.Variants[0], b.Activations, 0)
	logit := func(e int) float64 { return -200 - float64(e*17%40)/8 }
	sum := 0.0
	for e := range p.Gating.Experts {
		m.set(p.Gating.Logits, e, logit(e))
		sum += math.Exp(logit(e))
	}
	m.execute(t, executor(t, print(t, b)), k.Variants[0].Func)
	for i := range p.Gating.K {
		expert, weight := m.routing(p.Routing, i)
		if expert*17%40 != i {
			t.Errorf("choice %d is expert %d", i, expert)
		}
		if want := math.Exp(logit(expert)) / sum; math.Abs(weight-want) > 1e-6*want { // exp and sums of floats
			t.Errorf("expert %d has weight %g; expected %g", expert, weight, want)
		}
	}
}
