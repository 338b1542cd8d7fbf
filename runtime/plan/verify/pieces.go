package verify

import "mla/runtime/plan"

// GatingOf returns the gating that a part runs, or nil.
func GatingOf(p plan.Part) *plan.Gating {
	if m := plan.ProductOf(p); m != nil {
		return m.Gating
	}
	switch p := p.(type) {
	case *plan.RouteVec:
		return &p.Gating
	case *plan.RouteBatch:
		return &p.Gating
	}
	return nil
}

// CombineOf returns the combine that a part runs, or nil.
func CombineOf(p plan.Part) *plan.Combine {
	if m := plan.ProductOf(p); m != nil {
		return m.Combine
	}
	if c, ok := p.(*plan.CombineVec); ok {
		return &c.Combine
	}
	return nil
}

func ceil(a, b int) int { return (a + b - 1) / b }
