package spec

import (
	"cmp"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"mla/gen/target"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
)

// Upper bounds of dimensions: far above any known model, and small enough for
// the number of elements of any tensor to stay below 2^53.
const (
	maxWidth   = 1 << 20
	maxContext = 1 << 30
	maxSplits  = 1024
	maxTile    = 1024
	maxUnroll  = 16
)

// SentencePiece is the name in specs of the tokenizer of files whose tokenizer.ggml.model is "llama". The
// other names in Tokenizers are values of tokenizer.ggml.pre: byte-level BPE.
const SentencePiece = "sentencepiece"

// The names that a spec may use.
var (
	Tokenizers    = append(gguf.PreTokenizers(), SentencePiece)
	ChatTemplates = []string{"glm4", "deepseek-v2", "youtu", "none", "jinja"}
	Activations   = []string{"f32", "f16"} // plan.ActNames; the first is the default
)

// rootFields are the keys of a spec file.
func rootFields(s *Spec) []field {
	return []field{
		optional(versionField()),
		optional(oneOf("architecture", &s.Architecture, gguf.Architectures())),
		section("model", modelFields(&s.Model)),
		optional(nullable(section("temperature", temperatureFields(&s.Temperature)))),
		section("rope", ropeFields(&s.Rope)),
		optional(nullable(field{key: "moe", decode: func(d *decoder, n *yaml.Node, path string) bool {
			s.MoE = &MoE{RoutedScalingFactor: 1, NGroup: 1, TopKGroup: 1}
			return d.mapping(n, path, moeFields(s.MoE, &s.experts))
		}})),
		optional(nullable(field{key: "linear_attn_config", decode: func(d *decoder, n *yaml.Node, path string) bool {
			s.Hybrid = &Hybrid{}
			return d.mapping(n, path, linearFields(s.Hybrid))
		}})),
		oneOf("tokenizer", &s.Tokenizer, Tokenizers),
		oneOf("chat_template", &s.ChatTemplate, ChatTemplates),
		optional(activationsField(&s.activations)),
		optional(sequencesField(&s.sequences)),
		{key: "quants", decode: func(d *decoder, n *yaml.Node, _ string) bool {
			d.quants = n
			return true
		}},
		optional(nullable(section("tuning", tuningsFields(&s.tunings)))),
	}
}

func modelFields(m *Model) []field {
	return slices.Concat([]field{text("title", &m.Title)}, parameters(&m.Dims),
		[]field{optional(integer("num_nextn_predict_layers", &m.NumNextNPredictLayers, 0, 1))})
}

func moeFields(m *MoE, e *hparams.HybridExperts) []field {
	return slices.Concat(parameters(m), expertFields(e))
}

// parameters are the keys of the fields of a struct with tags of package hparams, such as *Dims or *MoE.
func parameters(of any) (list []field) {
	for _, p := range hparams.Parameters(of) {
		var f field
		switch v := p.Value.(type) {
		case *int:
			f = integer(p.Name, v, int(p.Lo), int(p.Hi))
		case *float64:
			f = number(p.Name, v, p.Lo, p.Hi)
		case *bool:
			f = boolean(p.Name, v)
		case *string:
			f = oneOf(p.Name, v, p.Names)
		}
		if p.Nullable {
			f = nullable(f)
		}
		f.optional = p.Optional
		list = append(list, f)
	}
	return list
}

func temperatureFields(t *plan.Temperature) []field {
	return []field{
		number("scale", &t.Scale, -1e6, 1e6),
		integer("length", &t.Length, 1, maxContext),
	}
}

func ropeFields(r *Rope) []field {
	return []field{
		number("theta", &r.Theta, 1, 1e12),
		optional(nullable(field{key: "scaling", decode: func(d *decoder, n *yaml.Node, path string) bool {
			r.Scaling = &Yarn{AttnFactor: 1}
			return d.mapping(n, path, yarnFields(r.Scaling))
		}})),
	}
}

func yarnFields(y *Yarn) []field {
	var kind string // checked and then dropped: YaRN is the only type
	return []field{
		oneOf("type", &kind, []string{"yarn"}),
		number("factor", &y.Factor, 1e-3, 1e6),
		integer("original_max_position_embeddings", &y.OriginalMaxPositionEmbeddings, 1, maxContext),
		optional(number("mscale_all_dim", &y.MScaleAllDim, 0, 1e3)),
		optional(number("attn_factor", &y.AttnFactor, 1e-6, 1e6)),
	}
}

func tuningFields(t *Tuning) []field {
	return append([]field{
		optional(section("attention", attentionFields(&t.Attention, &t.AttentionFound))),
		optional(section("attend_heads", attendHeadsFields(&t.AttendHeads, &t.AttendHeadsFound))),
		optional(field{key: "kernels", decode: func(d *decoder, n *yaml.Node, path string) bool {
			return d.kernels(n, path, t)
		}}),
	}, foundFields(&t.Found)...)
}

func attentionFields(a *Attention, f *Found) []field {
	return append([]field{
		optional(integer("splits", &a.Splits, 1, maxSplits)),
		optional(integer("tile", &a.Tile, 1, maxTile)),
		optional(integer("simdgroups", &a.Simdgroups, 1, target.MaxSimdgroups)),
	}, foundFields(f)...)
}

func attendHeadsFields(a *AttendHeads, f *Found) []field {
	return append([]field{
		optional(integer("from", &a.From, 1, plan.MaxWidth)),
		optional(integer("rows_per_simdgroup", &a.RowsPerSimdgroup, 8, target.SimdWidth)),
		optional(integer("simdgroups", &a.Simdgroups, 1, target.MaxSimdgroups)),
		optional(integer("split_k", &a.SplitK, 1, target.MaxSimdgroups)),
		optional(integer("tile", &a.Tile, 16, maxHeadsTile)),
	}, foundFields(f)...)
}

func kernelFields(s *KernelShape) []field {
	return append([]field{
		optional(even(integer("rows_per_simdgroup", &s.RowsPerSimdgroup, 2, target.SimdWidth), &s.RowsPerSimdgroup)),
		optional(integer("simdgroups", &s.Simdgroups, 1, target.MaxSimdgroups)),
		optional(integer("split_k", &s.SplitK, 1, target.MaxSimdgroups)),
		optional(integer("unroll", &s.Unroll, 1, maxUnroll)),
	}, foundFields(&s.Found)...)
}

// even rejects odd values: the two elements of a rotary pair must belong to one simdgroup.
func even(f field, dst *int) field {
	decode := f.decode
	f.decode = func(d *decoder, n *yaml.Node, path string) bool {
		if !decode(d, n, path) {
			return false
		}
		if *dst%2 != 0 {
			d.errorf(n, "%s is %d; expected an even number", path, *dst)
			return false
		}
		return true
	}
	return f
}

// maxKernels is the largest number of kernels that one file may shape.
const maxKernels = 64

// kernels decodes a mapping from kernel names to shapes. The compiler gives the names, and this package does
// not know them. CheckKernels checks them later.
func (d *decoder) kernels(n *yaml.Node, path string, t *Tuning) bool {
	if n.Kind != yaml.MappingNode || len(n.Content) > 2*maxKernels {
		d.errorf(n, "%s is %s; expected a mapping from at most %d kernel names to shapes", path, describe(n), maxKernels)
		return false
	}
	ok := true
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !isIdentifier(key.Value) || seen[key.Value] {
			d.errorf(key, "%s: %q is no kernel name or appears twice; expected lower-case letters, digits and _", path, key.Value)
			ok = false
			continue
		}
		seen[key.Value] = true
		k := KernelShape{Kernel: key.Value, File: d.fileOf(key), Line: key.Line, Column: key.Column} // inherit fills in what it leaves out
		ok = d.mapping(n.Content[i+1], path+"."+key.Value, kernelFields(&k)) && ok
		t.Kernels = append(t.Kernels, k)
	}
	return ok
}

// CheckKernels reports the entries of tuning.kernels that shape no kernel, with their positions in the file.
// names are the names of all kernels that a tuning can shape. of gives these names for each width.
func (s *Spec) CheckKernels(names []string, of map[int][]string) error {
	var errs ErrorList
	for _, k := range s.Tuning.Kernels {
		if kernel, width, ok := AnyWidth(k.Kernel); ok && slices.Contains(names, kernel) {
			if !slices.Contains(of[width], kernel) {
				errs = append(errs, Error{cmp.Or(k.File, s.Path), k.Line, k.Column, fmt.Sprintf("kernel %s in tuning: no sequence of %d rows has a shape for %s in tuning", k.Kernel, width, kernel)})
			}
			continue
		}
		if !slices.Contains(names, k.Kernel) {
			errs = append(errs, Error{cmp.Or(k.File, s.Path), k.Line, k.Column, unknown("kernel in tuning", k.Kernel, names)})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r == '_' || r >= '0' && r <= '9' && i > 0) {
			return false
		}
	}
	return s != "" && len(s) <= maxText
}
