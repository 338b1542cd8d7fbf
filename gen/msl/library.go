package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/msl/mark"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
	"mla/templates"
)

// section is a file of the library, by its path below templates/msl/lib without .metal, and the
// bundles that have it.
type section struct {
	name   string
	usedBy func(*plan.Bundle) bool
}

// sections are the library in its order: what all bundles have, the formats, and what several bodies
// call.
func sections() []section {
	list := []section{{"prelude", always}, {"weights/blocks", always}, {"weights/decode", always}, {"weights/dot", always}, {"weights/ahead", always}}
	for _, f := range quant.Formats() {
		list = append(list, section{"quant/" + f.Name, func(b *plan.Bundle) bool { return usesType(b, f.Type) }})
	}
	return append(list, shared...)
}

// shared are the files of what several bodies call.
var shared = []section{
	{"product", ofParts(multipliesMany)},
	{"weight_rows", ofParts(multipliesMany)},
	{"matrices", ofParts(multipliesMany)},
	{"sent_eight", ofParts(verify.Matrices)},
	{"batch_product", ofParts(verify.Matrices)},
	{"prompt_product", ofParts(verify.Matrices)},
	{"experts_batch", ofParts(func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Persistent > 0 })},
	{"route", ofParts(func(p plan.Part) bool { return verify.GatingOf(p) != nil })},
	{"group_experts", ofParts(func(p plan.Part) bool { _, ok := p.(*plan.GroupExperts); return ok })},
	{"experts_sum", ofParts(func(p plan.Part) bool { _, ok := p.(*plan.ExpertsSum); return ok })},
	{"combine", ofParts(func(p plan.Part) bool { return verify.CombineOf(p) != nil })},
	{"sample", ofParts(samples)},
	{"draw", ofParts(samples)},
	{"cache", ofParts(usesCache)},
	{"cache_f32", ofCache(quant.F32, usesCache)},
	{"cache_f16", ofCache(quant.F16, usesCache)},
	{"cache_q8_0", ofCache(quant.Q8_0, usesCache)},
	{"attend", ofParts(attendsLatent)},
	{"blocks", ofParts(func(p plan.Part) bool { return attendsBlocks(p) || expandsHeads(p) || attendsHeads(p) })},
	{"attend_matrix", ofParts(attendsBlocks)},
	{"score_scales", ofParts(attendsHeads)},
	{"latent_tiles", ofParts(expandsHeads)},
	{"latent_tiles_f16", ofCache(quant.F16, expandsHeads)},
	{"latent_tiles_f32", ofCache(quant.F32, expandsHeads)},
	{"latent_copies", ofParts(expandsHeads)},
	{"expand_heads", ofParts(expandsHeads)},
	{"head_rows", ofParts(attendsHeads)},
	{"attend_heads", ofParts(attendsHeads)},
}

func always(*plan.Bundle) bool { return true }

// ofParts says that some part is one of those that f is true of.
func ofParts(f func(plan.Part) bool) func(*plan.Bundle) bool {
	return func(b *plan.Bundle) bool {
		return slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool { return slices.ContainsFunc(k.Parts, f) })
	}
}

// ofCache is ofParts of bundles that some variant with a cache of a type is of.
func ofCache(t quant.Type, f func(plan.Part) bool) func(*plan.Bundle) bool {
	parts := ofParts(f)
	return func(b *plan.Bundle) bool {
		return parts(b) && slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool {
			return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool {
				of, ok := cacheType(&k, &v)
				return ok && of == t
			})
		})
	}
}

// usesType says whether a variant has a weight or a cache of a type.
func usesType(b *plan.Bundle, t quant.Type) bool {
	return slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool {
		return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool { return slices.Contains(v.Types, t) })
	})
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

// text is a file of the library as it is printed: without comments, which stay in templates/msl.
func (s *section) text() (string, error) {
	file, err := templates.MSL.ReadFile("msl/lib/" + s.name + ".metal")
	if err != nil {
		return "", fmt.Errorf("no file templates/msl/lib/%s.metal: %w", s.name, err)
	}
	var out strings.Builder
	out.WriteString("\n")
	for line := range strings.Lines(string(file)) {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "//") {
			out.WriteString(line)
		}
	}
	return out.String(), nil
}

// library prints the files that the bundle has.
func (p *printer) library() {
	for _, s := range sections() {
		if p.err != nil || !s.usedBy(p.bundle) {
			continue
		}
		var text string
		text, p.err = s.text()
		p.out.WriteString(text)
	}
}

// Library returns the library of all bundles, as generated/library.metal has it; see pieces.Library.
func Library() (*pieces.Library, error) {
	var texts, names []string
	for _, s := range sections() {
		text, err := s.text()
		if err != nil {
			return nil, err
		}
		texts, names = append(texts, text), append(names, s.name)
	}
	marked, err := mark.Sections(append(texts, closeNamespace+"\n"))
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	l := &pieces.Library{}
	for i, name := range names {
		l.Add(name, marked[i])
	}
	return l, nil
}
