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
	{"attend.shared", attendsLatent},
	{"blocks.shared", func(p plan.Part) bool { return attendsBlocks(p) || expandsHeads(p) || attendsHeads(p) }},
	{"attend_matrix.shared", attendsBlocks},
	{"prompt.shared", attendsHeads},
	{"latent_tiles.shared", expandsHeads},
	{"expand_heads.shared", expandsHeads},
	{"head_rows.shared", attendsHeads},
	{"attend_heads.shared", attendsHeads},
}

// multipliesMany says whether a part multiplies weights by the inputs of several rows.
func multipliesMany(p plan.Part) bool { return verify.Matrices(p) || expandsHeads(p) }

// attendsLatent says whether a part is attention to latent rows.
func attendsLatent(p plan.Part) bool { _, ok := p.(*plan.Attend); return ok }

// attendsBlocks says whether it is of whole blocks.
func attendsBlocks(p plan.Part) bool { a, ok := p.(*plan.Attend); return ok && wholeBlocks(a) }

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
}

func (p *printer) anyPart(f func(plan.Part) bool) bool {
	for _, k := range p.bundle.Kernels {
		for _, part := range k.Parts {
			if f(part) {
				return true
			}
		}
	}
	return false
}
