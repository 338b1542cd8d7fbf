package ir

import "mla/runtime/plan"

// Grouped says that an ExpertsMatVec takes its rows by expert: its last inputs are the
// outputs of a GroupExperts, in the place of a row's routing.
func (op *Op) Grouped() bool { return op.Kind == ExpertsMatVec && len(op.In) == 3 }

// Grouping is how many experts and selections a GroupExperts groups.
func (op *Op) Grouping(p *Program) plan.Grouping {
	return plan.Grouping{Experts: p.Spec.MoE.NRoutedExperts, K: p.Spec.MoE.NumExpertsPerTok}
}
