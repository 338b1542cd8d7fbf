package msl

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/msl/mark"
	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
	"mla/templates"
)

// section is a part of the library: a file, named by its path below templates/msl/lib without .metal, or a
// code book. usedBy selects the bundles that need it.
type section struct {
	name   string
	usedBy func(*plan.Bundle) bool
	book   *quant.CodeBook // nil: a file
}

// sections lists the library in its order: what all bundles have, then the formats of weights, then what
// several bodies call.
func sections() []section {
	list := []section{{name: "inline", usedBy: ofMetal}}
	for _, name := range []string{"prelude", "weights/blocks", "weights/decode", "weights/dot", "weights/ahead"} {
		list = append(list, section{name: name, usedBy: always})
	}
	list = append(list, section{name: "weights/lanes", usedBy: func(b *plan.Bundle) bool {
		return slices.ContainsFunc(inLanes, func(t quant.Type) bool { return usesType(b, t) })
	}})
	list = append(list, section{name: "weights/grids", usedBy: func(b *plan.Bundle) bool { return usesBook(b, nil) }})
	for _, book := range quant.CodeBooks() {
		list = append(list, section{"book/" + book.Name, func(b *plan.Bundle) bool { return usesBook(b, book) }, book})
	}
	for _, f := range quant.Formats() {
		if f.Loaded {
			continue // the file of the format that it is made of on loading has it, too
		}
		list = append(list, section{name: "quant/" + f.Name, usedBy: func(b *plan.Bundle) bool {
			return usesType(b, f.Type) || f.Type == quant.NVFP4 && usesType(b, quant.NVFP4Scaled)
		}})
	}
	return append(list, shared...)
}

// inLanes are the formats that use weights/lanes.metal.
var inLanes = []quant.Type{quant.Q3_K, quant.Q2_K, quant.IQ3_XXS, quant.IQ3_S, quant.IQ2_XXS, quant.IQ2_XS, quant.IQ2_S,
	quant.IQ1_S, quant.IQ1_M, quant.TQ1_0, quant.TQ2_0, quant.Q1_0, quant.Q2_0, quant.NVFP4, quant.NVFP4Scaled}

// shared are the files with what several bodies call.
var shared = []section{
	{name: "product", usedBy: ofParts(multipliesMany)},
	{name: "weight_rows", usedBy: inSteps(multipliesMany)},
	{name: "weight_step", usedBy: partByPart(multipliesMany)},
	{name: "matrices", usedBy: inSteps(multipliesMany)},
	{name: "tile_inputs", usedBy: ofParts(multipliesMany)},
	{name: "sent_eight", usedBy: func(b *plan.Bundle) bool { return ofParts(verify.Matrices)(b) || partByPart(expandsHeads)(b) }},
	{name: "batch_product", usedBy: inSteps(verify.Matrices)},
	{name: "prompt_product", usedBy: inSteps(verify.Matrices)},
	{name: "operands", usedBy: partByPart(multipliesMany)},
	{name: "part_product", usedBy: partByPart(multipliesMany)},
	{name: "experts_batch", usedBy: ofParts(func(p plan.Part) bool { e, ok := p.(*plan.Experts); return ok && e.Persistent > 0 })},
	{name: "route", usedBy: ofParts(func(p plan.Part) bool { return verify.GatingOf(p) != nil })},
	{name: "group_experts", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.GroupExperts); return ok })},
	{name: "experts_sum", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.ExpertsSum); return ok })},
	{name: "combine", usedBy: ofParts(func(p plan.Part) bool { return verify.CombineOf(p) != nil })},
	{name: "sample", usedBy: ofParts(samples)},
	{name: "draw", usedBy: ofParts(samples)},
	{name: "cache", usedBy: ofParts(usesCache)},
	{name: "cache_f32", usedBy: ofCache(quant.F32, usesCache)},
	{name: "cache_f16", usedBy: ofCache(quant.F16, usesCache)},
	{name: "cache_q8_0", usedBy: ofCache(quant.Q8_0, usesCache)},
	{name: "rows_of_splits", usedBy: func(b *plan.Bundle) bool {
		return slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool { return k.PerCore() != nil })
	}},
	{name: "attend", usedBy: ofParts(attendsLatent)},
	{name: "blocks", usedBy: ofParts(func(p plan.Part) bool { return attendsBlocks(p) || expandsHeads(p) || attendsHeads(p) })},
	{name: "attend_matrix", usedBy: ofParts(attendsBlocks)},
	{name: "score_scales", usedBy: ofParts(attendsHeads)},
	{name: "latent_tiles", usedBy: ofParts(expandsHeads)},
	{name: "latent_tiles_f16", usedBy: ofCache(quant.F16, expandsHeads)},
	{name: "latent_tiles_f32", usedBy: ofCache(quant.F32, expandsHeads)},
	{name: "some_pages", usedBy: ofParts(expandsHeads)},
	{name: "latent_copies", usedBy: inSteps(expandsHeads)},
	{name: "expand_heads", usedBy: ofParts(expandsHeads)},
	{name: "expand_steps", usedBy: inSteps(expandsHeads)},
	{name: "expand_parts", usedBy: partByPart(expandsHeads)},
	{name: "clamps", usedBy: ofParts(func(p plan.Part) bool { return limit(p) > 0 })},
	{name: "delta_rows", usedBy: ofParts(func(p plan.Part) bool { return plan.StateOf(p) != nil })},
	{name: "delta_head", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.DeltaHeads); return ok })},
	{name: "delta_vectors", usedBy: ofParts(func(p plan.Part) bool { return deltaRowsOf(p) != nil })},
	{name: "delta_chunks", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.DeltaChunks); return ok })},
	{name: "delta_fold", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.DeltaFold); return ok })},
	{name: "delta_columns", usedBy: ofParts(func(p plan.Part) bool { _, ok := p.(*plan.DeltaColumns); return ok })},
	{name: "head_copies", usedBy: inSteps(attendsHeads)},
	{name: "head_rows", usedBy: ofParts(attendsHeads)},
	{name: "attend_heads", usedBy: inSteps(attendsHeads)},
	{name: "attend_parts", usedBy: partByPart(attendsHeads)},
}

func always(*plan.Bundle) bool { return true }

// ofMetal selects the bundles for devices that compile Metal source.
func ofMetal(b *plan.Bundle) bool { return b.Class == target.MetalClass }

// ofParts selects the bundles in which f is true of at least one part.
func ofParts(f func(plan.Part) bool) func(*plan.Bundle) bool {
	return func(b *plan.Bundle) bool {
		return slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool { return slices.ContainsFunc(k.Parts, f) })
	}
}

// inSteps selects from ofParts the bundles whose tiles have whole steps of columns, see target.Target.Parts.
func inSteps(f func(plan.Part) bool) func(*plan.Bundle) bool {
	return func(b *plan.Bundle) bool { return !target.For(b.Class).Parts() && ofParts(f)(b) }
}

// partByPart selects from ofParts the bundles whose tiles have parts of a step, see target.Target.Parts.
func partByPart(f func(plan.Part) bool) func(*plan.Bundle) bool {
	return func(b *plan.Bundle) bool { return target.For(b.Class).Parts() && ofParts(f)(b) }
}

// ofCache selects the bundles of ofParts that have a variant with a KV cache of type t.
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

// usesType reports whether a variant has a weight or a cache of type t.
func usesType(b *plan.Bundle, t quant.Type) bool {
	return slices.ContainsFunc(b.Kernels, func(k plan.Kernel) bool {
		return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool { return slices.Contains(v.Types, t) })
	})
}

// usesBook reports whether a bundle has a format with the code book; nil stands for any code book.
func usesBook(b *plan.Bundle, book *quant.CodeBook) bool {
	return slices.ContainsFunc(quant.Formats(), func(f *quant.Format) bool {
		return f.Book != nil && (book == nil || f.Book == book) && usesType(b, f.Type)
	})
}

// multipliesMany reports whether a part multiplies weights by the inputs of several rows.
func multipliesMany(p plan.Part) bool { return verify.Matrices(p) || expandsHeads(p) }

// attendsLatent reports whether a part is attention to latent rows.
func attendsLatent(p plan.Part) bool { _, ok := p.(*plan.Attend); return ok }

// attendsBlocks reports whether a part is attention to latent rows whose columns are whole blocks.
func attendsBlocks(p plan.Part) bool { a, ok := p.(*plan.Attend); return ok && wholeBlocks(a) }

func usesCache(p plan.Part) bool {
	return slices.ContainsFunc(p.Uses(), func(u plan.Use) bool { return u.As == plan.RoleCache })
}

// samples reports whether a part belongs to the sampler.
func samples(p plan.Part) bool {
	return slices.ContainsFunc(p.Uses(), func(u plan.Use) bool { return u.As == plan.RolePicks })
}

// text returns the section as it is printed. Comments stay in templates/msl.
func (s *section) text() (string, error) {
	if s.book != nil {
		return table(s.book), nil
	}
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

// table returns a code book as constants of Metal.
func table(b *quant.CodeBook) string {
	var out strings.Builder
	words, word := b.Words(), "uint"
	if b.Group == 8 {
		word = "ushort"
	}
	fmt.Fprintf(&out, "\nconstant %s %s_book[%d] = {", word, b.Name, len(words))
	for i, w := range words {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "0x%xu", w)
	}
	out.WriteString("};\n")
	return out.String()
}

// library prints the sections that the bundle uses.
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

// Library returns the library of all bundles, which is printed to generated/library.metal; see
// pieces.Library.
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
