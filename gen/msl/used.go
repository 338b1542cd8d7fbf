package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// quants prints the formats that some variant uses.
func (p *printer) quants() {
	p.line("")
	for _, name := range []string{"blocks.msl", "dot.msl", "ahead.msl"} {
		p.execute(name, nil)
	}
	for _, f := range quant.Formats() {
		if !p.usesType(f.Type) {
			continue
		}
		p.line("")
		name := f.Name + ".msl"
		if p.tmpl.Lookup(name) == nil && p.err == nil {
			p.err = fmt.Errorf("no template msl/quant/%s for the format %s", name, f.Name)
		}
		p.execute(name, nil)
	}
}

func (p *printer) usesType(t quant.Type) bool {
	for _, k := range p.bundle.Kernels {
		for _, v := range k.Variants {
			for _, u := range v.Types {
				if u == t {
					return true
				}
			}
		}
	}
	return false
}

// sharedParts lists the templates of functions that several bodies call, and
// the parts that need them.
var sharedParts = []struct {
	template string
	usedBy   func(plan.Part) bool
}{
	{"route.shared", func(p plan.Part) bool { return gatingOf(p) != nil }},
	{"experts_sum.shared", func(p plan.Part) bool { _, ok := p.(*plan.ExpertsSum); return ok }},
	{"combine.shared", func(p plan.Part) bool { return combineOf(p) != nil }},
	{"sample.shared", samples},
	{"attend.shared", func(p plan.Part) bool { _, ok := p.(*plan.Attend); return ok }},
	{"attend_matrix.shared", func(p plan.Part) bool { a, ok := p.(*plan.Attend); return ok && wholeBlocks(a) }},
}

// samples says whether a part belongs to the sampler.
func samples(p plan.Part) bool {
	switch p.(type) {
	case *plan.ScanLogits, *plan.PickToken:
		return true
	}
	return false
}

// shared prints the functions that the bundle's parts call.
func (p *printer) shared() {
	for _, s := range sharedParts {
		if p.anyPart(s.usedBy) {
			p.execute(s.template, nil)
		}
	}
	if p.bundle.HasTails() {
		p.execute("tail.shared", nil)
	}
}

func (p *printer) anyPart(f func(plan.Part) bool) bool {
	for _, k := range p.bundle.Kernels {
		for _, part := range k.AllParts() {
			if f(part) {
				return true
			}
		}
	}
	return false
}

// combineOf returns the combine that a part runs, or nil.
func combineOf(p plan.Part) *plan.Combine {
	switch p := p.(type) {
	case *plan.MatVec:
		return p.Combine
	case *plan.CombineVec:
		return &p.Combine
	}
	return nil
}
