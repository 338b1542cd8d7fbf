package interp

import (
	"cmp"

	"mla/gen/ir"
	"mla/runtime/plan/formula"
)

// A routing value holds an expert's index and its weight in one float64 each:
// indices in the first half of the slice, weights in the second.

func expertOf(routing []float64, i int) int     { return int(routing[i]) }
func weightOf(routing []float64, i int) float64 { return routing[len(routing)/2+i] }

func scores(m *Machine, op *ir.Op) {
	copy(m.out(op, 0), formula.Probabilities(m.in(op, 0, 0), m.p.Spec.MoE.ScoringFunc != "softmax"))
}

// topK selects the op.K experts of the highest score plus bias, see formula.Best.
func topK(m *Machine, op *ir.Op) {
	sel := append([]float64{}, m.in(op, 0, 0)...)
	if len(op.W) > 0 {
		bias, _, _ := m.weight(op, 0, 0)
		formula.AddTo(sel, bias, 1)
	}
	moe := m.p.Spec.MoE
	var out []float64
	for _, e := range formula.Best(sel, op.K, moe.NGroup, moe.TopKGroup) {
		out = append(out, float64(e))
	}
	m.values[op.Out[0]] = out
}

func routeWeights(m *Machine, op *ir.Op) {
	p, idx := m.in(op, 0, 0), m.values[op.In[1].V]
	var chosen []float64
	for _, e := range idx {
		chosen = append(chosen, p[int(e)])
	}
	moe := m.p.Spec.MoE
	m.values[op.Out[0]] = append(append([]float64{}, idx...), formula.Shares(chosen, moe.NormTopKProb, cmp.Or(moe.RoutedScalingFactor, 1))...)
}

// groupExperts lists the selections of all rows by expert; see plan.Grouping.
func groupExperts(m *Machine, op *ir.Op) {
	starts, members := m.out(op, 0), m.out(op, 1)
	g := op.Grouping(m.p)
	n := 0
	for e := range g.Experts {
		starts[e] = float64(n)
		for r := range m.rows {
			for k := range g.K {
				if expertOf(m.rows[r].values[op.In[0].V], k) == e {
					members[n] = float64(r*g.K + k)
					n++
				}
			}
		}
	}
	starts[g.Experts] = float64(n)
}

// grouped returns the row's selection, read from the lists of groupExperts.
func grouped(m *Machine, op *ir.Op) []float64 {
	starts, members := m.values[op.In[1].V], m.values[op.In[2].V]
	experts := make([]float64, 2*op.K)
	for e := range starts[1:] {
		for i := int(starts[e]); i < int(starts[e+1]); i++ {
			if s := int(members[i]); s/op.K == m.index {
				experts[s%op.K] = float64(e)
			}
		}
	}
	return experts
}
