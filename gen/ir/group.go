package ir

import "mla/runtime/plan"

// Grouped reports whether an ExpertsMatVec reads rows grouped by expert: its last two inputs are the outputs
// of a GroupExperts instead of one row's routing.
func (op *Op) Grouped() bool { return op.Kind == ExpertsMatVec && len(op.In) == 3 }

// Grouping returns the number of experts, and of selections per row, that a GroupExperts groups.
func (op *Op) Grouping(p *Program) plan.Grouping {
	return plan.Grouping{Experts: p.Spec.MoE.NRoutedExperts, K: p.Spec.MoE.NumExpertsPerTok}
}
