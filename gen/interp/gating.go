package interp

import (
	"math"
	"sort"

	"mla/gen/ir"
)

// A routing value holds an expert's index and its weight in one float64 each:
// indices in the first half of the slice, weights in the second.

func expertOf(routing []float64, i int) int     { return int(routing[i]) }
func weightOf(routing []float64, i int) float64 { return routing[len(routing)/2+i] }

func scores(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	copy(out, m.in(op, 0, 0))
	if m.p.Spec.MoE.ScoringFunc == "softmax" {
		softmax(out)
		return
	}
	for i, v := range out {
		out[i] = 1 / (1 + math.Exp(-v))
	}
}

// topK selects the op.K experts of the highest score plus bias, within the
// topk_group best groups (a group's score: its two best), lower index first
// among equals.
func topK(m *Machine, op *ir.Op) {
	sel := append([]float64{}, m.in(op, 0, 0)...)
	if len(op.W) > 0 {
		bias, _, _ := m.weight(op, 0, 0)
		for i := range sel {
			sel[i] += float64(bias[i])
		}
	}
	moe := m.p.Spec.MoE
	if moe.NGroup > 1 {
		maskGroups(sel, moe.NGroup, moe.TopKGroup)
	}
	out := make([]float64, op.K)
	for i, e := range descending(sel)[:op.K] {
		out[i] = float64(e)
	}
	m.values[op.Out[0]] = out
}

func maskGroups(sel []float64, groups, keep int) {
	n := len(sel) / groups
	score := make([]float64, groups)
	for g := range score {
		best := append([]float64{}, sel[g*n:(g+1)*n]...)
		sort.Sort(sort.Reverse(sort.Float64Slice(best)))
		for _, v := range best[:min(2, n)] {
			score[g] += v
		}
	}
	for _, g := range descending(score)[keep:] {
		for i := g * n; i < (g+1)*n; i++ {
			sel[i] = math.Inf(-1)
		}
	}
}

func descending(x []float64) []int {
	idx := make([]int, len(x))
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(a, b int) bool { return x[idx[a]] > x[idx[b]] })
	return idx
}

// minRouteSum keeps the normalisation finite: the smallest normal half.
const minRouteSum = 6.103515625e-5

func routeWeights(m *Machine, op *ir.Op) {
	p, idx := m.in(op, 0, 0), m.values[op.In[1].V]
	moe := m.p.Spec.MoE
	w := make([]float64, op.K)
	sum := 0.0
	for i := range w {
		w[i] = p[int(idx[i])]
		sum += w[i]
	}
	for i := range w {
		if moe.NormTopKProb {
			w[i] /= math.Max(sum, minRouteSum)
		}
		if moe.RoutedScalingFactor != 0 {
			w[i] *= moe.RoutedScalingFactor
		}
	}
	m.values[op.Out[0]] = append(append([]float64{}, idx...), w...)
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

// grouped is the row's selection as the lists of groupExperts have it.
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
