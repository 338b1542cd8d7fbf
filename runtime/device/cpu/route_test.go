package cpu

import (
	"math"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/formula"
)

func TestRouteVec(t *testing.T) {
	for name, g := range map[string]plan.Gating{
		"softmax": {Experts: 64, K: 6, Scale: 1, Groups: 1, KGroups: 1},
		"sigmoid": {Experts: 33, K: 4, Sigmoid: true, Normalize: true, Scale: 1.8, Groups: 1, KGroups: 1},
		"groups":  {Experts: 24, K: 3, Sigmoid: true, Normalize: true, Scale: 2.5, Groups: 6, KGroups: 2},
		"lonely":  {Experts: 5, K: 2, Scale: 1, Groups: 5, KGroups: 3},
		"all":     {Experts: 4, K: 4, Scale: 1, Groups: 1, KGroups: 1},
	} {
		for seed := range uint64(20) {
			rg := newRig(t, seed)
			p := &plan.RouteVec{Gating: g}
			var logits, bias []float64
			p.Gating.Logits, logits = rg.in(plan.ElemF32, g.Experts)
			p.Gating.Bias = -1
			if g.Sigmoid {
				p.Gating.Bias, bias = rg.vector(g.Experts, 0)
			}
			p.Routing = rg.routing(true, make([]plan.Routing, g.K)...)
			rg.kernel.Parts = []plan.Part{p}
			r := rg.run(plan.Row{})
			checkRouting(t, name, r, rg.ops[p.Routing], &g, logits, bias)
		}
	}
}

func checkRouting(t *testing.T, name string, r *runner, op plan.Operand, g *plan.Gating, logits, bias []float64) {
	t.Helper()
	experts, weights := formula.Gate(g, logits, bias)
	for i, got := range view[plan.Routing](r.Spaces[plan.SpaceArena][op.Offset : op.Offset+op.Bytes]) {
		if int(got.Expert) != experts[i] {
			t.Fatalf("%s: choice %d is expert %d, want %d", name, i, got.Expert, experts[i])
		}
		check(t, name, []float64{float64(got.Weight)}, []float64{weights[i]}, 1e-6)
	}
}

// TestRouteEdges covers ties, a sum that vanishes and logits that are no numbers.
func TestRouteEdges(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		logits []float64
		want   []plan.Routing
	}{
		"ties":  {[]float64{0, 0, 0, 0}, []plan.Routing{{Expert: 0, Weight: 0.5}, {Expert: 1, Weight: 0.5}}},
		"later": {[]float64{-2, 0, -2, 0}, []plan.Routing{{Expert: 1, Weight: 0.5}, {Expert: 3, Weight: 0.5}}},
		"zero":  {[]float64{-200, -200, -200, -200}, []plan.Routing{{Expert: 0}, {Expert: 1}}},
		"NaN":   {[]float64{nan, nan, nan, nan}, []plan.Routing{{Expert: 0}, {Expert: 1}}},
	} {
		rg := newRig(t, 1)
		p := &plan.RouteVec{Gating: plan.Gating{Experts: 4, K: 2, Sigmoid: true, Normalize: true, Scale: 1, Groups: 2, KGroups: 2, Bias: -1}}
		p.Gating.Logits, _ = rg.buffer(plan.ElemF32, false, c.logits)
		p.Routing = rg.routing(true, make([]plan.Routing, 2)...)
		rg.kernel.Parts = []plan.Part{p}
		r := rg.run(plan.Row{})
		op := rg.ops[p.Routing]
		for i, got := range view[plan.Routing](r.Spaces[plan.SpaceArena][op.Offset : op.Offset+op.Bytes]) {
			if got.Expert != c.want[i].Expert || name != "NaN" && got.Weight != c.want[i].Weight {
				t.Errorf("%s: choice %d is %v, want %v", name, i, got, c.want[i])
			}
		}
	}
}

// TestRouteByLogits tells apart experts whose probability is 0 for all of them.
func TestRouteByLogits(t *testing.T) {
	rg := newRig(t, 1)
	p := &plan.RouteVec{Gating: plan.Gating{Experts: 4, K: 3, Scale: 1, Groups: 1, KGroups: 1, Bias: -1}}
	p.Gating.Logits, _ = rg.buffer(plan.ElemF32, false, []float64{-400, 0, -300, -200})
	p.Routing = rg.routing(true, make([]plan.Routing, 3)...)
	rg.kernel.Parts = []plan.Part{p}
	r := rg.run(plan.Row{})
	op := rg.ops[p.Routing]
	want := []plan.Routing{{Expert: 1, Weight: 1}, {Expert: 3}, {Expert: 2}}
	for i, got := range view[plan.Routing](r.Spaces[plan.SpaceArena][op.Offset : op.Offset+op.Bytes]) {
		if got != want[i] {
			t.Errorf("choice %d is %v, want %v", i, got, want[i])
		}
	}
}
