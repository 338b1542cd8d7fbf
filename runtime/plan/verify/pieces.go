package verify

import "mla/runtime/plan"

// GatingOf returns the gating that a part runs, or nil.
func GatingOf(p plan.Part) *plan.Gating {
	switch p := p.(type) {
	case *plan.Experts:
		return p.Gating
	case *plan.RouteVec:
		return &p.Gating
	case *plan.RouteBatch:
		return &p.Gating
	}
	return nil
}

// SplitKOf is how many simdgroups share a row of a part; 0 and 1: none do.
func SplitKOf(p plan.Part) int {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.SplitK
	case *plan.Experts:
		return p.SplitK
	case *plan.ExpertsSum:
		return p.SplitK
	}
	return 0
}

func ceil(a, b int) int { return (a + b - 1) / b }
