package msl

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// quants prints the formats that some variant uses.
func (p *printer) quants() {
	p.line("")
	for _, name := range []string{"blocks.msl", "decode.msl", "dot.msl", "ahead.msl"} {
		p.execute(name, nil)
	}
	p.books()
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

// books prints the code books of these formats, each once, after what the formats share that have one.
func (p *printer) books() {
	var printed []*quant.CodeBook
	for _, f := range quant.Formats() {
		if f.Book == nil || !p.usesType(f.Type) || slices.Contains(printed, f.Book) {
			continue
		}
		if printed == nil {
			p.execute("grids.shared", nil)
		}
		p.execute("book.shared", f.Book)
		printed = append(printed, f.Book)
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
	{"product.shared", multipliesMany},
	{"weight_rows.shared", multipliesMany},
	{"matrices.shared", multipliesMany},
	{"sent_eight.shared", verify.Matrices},
	{"batch_product.shared", verify.Matrices},
	{"prompt_product.shared", verify.Matrices},
	{"experts_batch.shared", func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Persistent > 0 }},
	{"route.shared", func(p plan.Part) bool { return verify.GatingOf(p) != nil }},
	{"group_experts.shared", func(p plan.Part) bool { _, ok := p.(*plan.GroupExperts); return ok }},
	{"experts_sum.shared", func(p plan.Part) bool { _, ok := p.(*plan.ExpertsSum); return ok }},
	{"combine.shared", func(p plan.Part) bool { return verify.CombineOf(p) != nil }},
	{"sample.shared", samples},
	{"draw.shared", samples},
	{"cache.shared", usesCache},
	{"attend.shared", func(p plan.Part) bool { return attendOf(p) != nil }},
	{"blocks.shared", func(p plan.Part) bool {
		a := attendOf(p)
		return a != nil && wholeBlocks(a) || expandsHeads(p) || attendsHeads(p)
	}},
	{"attend_matrix.shared", func(p plan.Part) bool { a := attendOf(p); return a != nil && wholeBlocks(a) }},
	{"prompt.shared", func(p plan.Part) bool { _, ok := p.(*plan.AttendRows); return ok || attendsHeads(p) }},
	{"attend_rows.shared", func(p plan.Part) bool { _, ok := p.(*plan.AttendRows); return ok }},
	{"attend_rows_matrix.shared", func(p plan.Part) bool { a, ok := p.(*plan.AttendRows); return ok && wholeBlocks(asHeads(a)) }},
	{"latent_tiles.shared", expandsHeads},
	{"expand_heads.shared", expandsHeads},
	{"head_rows.shared", attendsHeads},
	{"attend_heads.shared", attendsHeads},
}

// multipliesMany says whether a part multiplies weights by the inputs of several rows.
func multipliesMany(p plan.Part) bool { return verify.Matrices(p) || expandsHeads(p) }

// attendOf returns a part's attention in the terms of one row, or nil.
func attendOf(p plan.Part) *plan.Attend {
	switch p := p.(type) {
	case *plan.Attend:
		return p
	case *plan.AttendRows:
		return asHeads(p)
	}
	return nil
}

func usesCache(p plan.Part) bool {
	return slices.ContainsFunc(p.Uses(), func(u plan.Use) bool { return u.As == plan.RoleCache })
}

// samples says whether a part belongs to the sampler.
func samples(p plan.Part) bool {
	return slices.ContainsFunc(p.Uses(), func(u plan.Use) bool { return u.As == plan.RoleState || u.As == plan.RolePicks })
}

// HasCache says whether some variant has a cache of the type of that name.
func (p *printer) HasCache(name string) bool {
	return slices.ContainsFunc(p.bundle.Kernels, func(k plan.Kernel) bool {
		return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool {
			t, ok := cacheType(&k, &v)
			return ok && t.String() == name
		})
	})
}

// shared prints the functions that the bundle's parts call.
func (p *printer) shared() {
	for _, s := range sharedParts {
		if p.anyPart(s.usedBy) {
			p.execute(s.template, p)
		}
	}
	if p.bundle.HasLastBlocks() {
		p.execute("last_block.shared", nil)
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
