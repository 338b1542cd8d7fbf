// Package gen is the compiler that mlagen runs: spec → ops → passes → kernels → printers. It reads and writes
// no files; cmd/mlagen does.
package gen

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/golang"
	"mla/gen/ir"
	"mla/gen/kernel"
	"mla/gen/lower"
	"mla/gen/msl"
	"mla/gen/pass"
	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/quant"
)

// Program lowers a spec for width rows and runs the passes.
func Program(s *spec.Spec, width int, o pass.Options) (*ir.Program, error) {
	p := lower.Lower(s, width)
	if err := pass.Compile(p, o); err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	return p, nil
}

// Compile compiles one variant of a spec to a bundle with its Metal source. The source has the kernels of all
// variants that share it (spec.Spec.OneSource). Passes named in disable are left out.
func Compile(s *spec.Spec, disable []string) (*plan.Bundle, error) {
	var bundles []*plan.Bundle
	for _, v := range s.OneSource() {
		b, err := tables(v, disable, bundles)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	all := *bundles[0]
	var err error
	if all.Kernels, err = kernel.Merge(bundles); err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	b := bundles[slices.IndexFunc(bundles, func(b *plan.Bundle) bool { return b.Name == s.Name })]
	source, err := msl.Print(&all, Header(s, disable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	b.Source = source
	return b, nil
}

// tables returns a bundle without its source. earlier are the bundles that share the source.
func tables(s *spec.Spec, disable []string, earlier []*plan.Bundle) (*plan.Bundle, error) {
	programs, err := programs(s, disable)
	if err != nil {
		return nil, err
	}
	b := &plan.Bundle{Name: s.Name, Spec: s.File, SpecHash: s.Hash, Class: s.Class, Model: model(s), Weights: kernel.WeightTable(programs[0].Weights)}
	if n := s.BatchRows(); n != plan.DefaultBatch {
		b.MaxBatch = n
	}
	if s.NextN > 0 {
		b.Joined = joined(s)
	}
	if s.Activations == "f16" {
		b.Activations = plan.ElemF16
	}
	for _, q := range s.Quants {
		types, err := quantmix.Types(s, q)
		if err != nil {
			return nil, fmt.Errorf("%s: quant profile %s: %w", s.File, q.Name, err)
		}
		for i, t := range types {
			if one := slices.Compact(slices.Clone(t)); len(one) == 1 { // one type stands for every layer
				types[i] = one
			}
		}
		b.Profiles = append(b.Profiles, plan.Profile{Name: q.Name, Types: types})
	}
	for _, p := range programs {
		if err := kernel.Select(p, b); err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
	}
	kernel.Pick(b)
	kernel.Apart(b, earlier)
	kernel.Variants(b)
	if err = forClasses(b); err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	return b, nil
}

// joined lists the tensors that the host needs to make the inputs of a multi-token-prediction layer. The
// embedding may have any type.
func joined(s *spec.Spec) []plan.Weight {
	table := kernel.WeightTable(weights.Joined(s))
	for i := range table {
		if table[i].Types = []quant.Type{quant.F32}; table[i].Role == weights.EmbedTokens {
			table[i].Types = nil
			for _, f := range quant.Formats() {
				if !f.Loaded {
					table[i].Types = append(table[i].Types, f.Type)
				}
			}
		}
	}
	return table
}

// programs compiles a spec for each of its widths.
func programs(s *spec.Spec, disable []string) ([]*ir.Program, error) {
	var list []*ir.Program
	for _, width := range s.Widths() {
		p, err := Program(s, width, pass.Options{Disable: disable})
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if len(disable) > 0 || s.NextN > 0 { // with fewer passes or layers, kernels have other names than in a tuning
		return list, nil
	}
	return list, checkKernels(s, list)
}

// checkKernels reports entries of the tuning for kernels that do not exist.
func checkKernels(s *spec.Spec, programs []*ir.Program) error {
	of := map[int][]string{}
	for _, p := range programs {
		for _, launch := range p.Launches {
			if rows, _ := p.Results(launch); rows > 0 && p.Width > 1 && !p.Matrices(launch) {
				of[p.Width] = append(of[p.Width], launch.Name())
			}
		}
	}
	return s.CheckKernels(kernelNames(programs), of)
}

// kernelNames returns the names of the programs' kernels, in the order of first use.
func kernelNames(programs []*ir.Program) []string {
	var names []string
	for _, p := range programs {
		for _, s := range p.Launches {
			if !slices.Contains(names, s.Name()) {
				names = append(names, s.Name())
			}
		}
	}
	return names
}

// Generate returns the files of a package with bundles that Compile made of variants of s. If library is not
// nil, the Metal source is written without the parts that the library has.
func Generate(s *spec.Spec, pkg string, bundles []*plan.Bundle, disable []string, library *pieces.Library) ([]golang.File, error) {
	files, err := golang.Print(pkg, bundles, Header(s, disable))
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, b := range bundles {
		name := golang.SourceFile(b)
		if text, ok := sources[name]; ok {
			if text != b.Source {
				return nil, fmt.Errorf("%s: the source of bundle %s differs from that of a bundle with which it shares one, in more than MLA_ACT", s.File, b.Name)
			}
			continue
		}
		sources[name] = b.Source
		if golang.Kept(b).Source == "" {
			continue
		}
		text := b.Source
		if library != nil {
			text = library.Kernels(text)
		}
		files = append(files, golang.File{Name: name, Data: []byte(text)})
	}
	return files, nil
}

// Header returns the first line of every generated file.
func Header(s *spec.Spec, disable []string) string {
	from := fmt.Sprintf("specs/%s (sha256:%s)", s.File, s.Hash)
	if len(disable) > 0 {
		from += " with -disable " + strings.Join(disable, ",")
	}
	return "// Code generated by mlagen from " + from + ". DO NOT EDIT."
}

// model returns what a file must have to fit the bundle.
func model(s *spec.Spec) plan.Model {
	m := &s.Model
	out := plan.Model{
		Architecture: s.Architecture,
		Dims:         m.Dims,
		Rope:         plan.Rope{Theta: s.Rope.Theta, Factor: 1, AttnFactor: 1},
		Temperature:  s.Temperature,
		Tokenizer:    s.Tokenizer, ChatTemplate: s.ChatTemplate,
		NextN: s.NextN, Hybrid: s.Hybrid,
	}
	if y := s.Rope.Scaling; y != nil {
		out.Rope = plan.Rope{Theta: s.Rope.Theta, Yarn: true, Factor: y.Factor, OriginalContext: y.OriginalMaxPositionEmbeddings,
			MScaleAllDim: y.MScaleAllDim, AttnFactor: y.AttnFactor}
	}
	if s.MoE != nil {
		out.MoE = *s.MoE
	}
	return out
}
