package bind

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
)

// hyperParameters compares the metadata of the file with the hyper-parameters of b.
func (r *Resolved) hyperParameters(b *plan.Bundle) []Mismatch {
	if r.err != nil {
		return []Mismatch{{What: "metadata", Found: r.err.Error(), Expected: "a model of architecture " + strings.Join(gguf.Architectures(), " or ")}}
	}
	var out []Mismatch
	for _, p := range r.parameters(b) {
		if !p.equal() {
			out = append(out, Mismatch{subject: p.name, What: p.name, Found: p.show(p.found), Expected: p.show(p.expected)})
		}
	}
	return out
}

// otherSizes says whether the file and b differ in the architecture or in a dimension. This is a quick check
// that rejects nearly all bundles that do not fit.
func (r *Resolved) otherSizes(b *plan.Bundle) bool {
	want := wanted(&r.h, &b.Model)
	want.RMSNormEps = r.h.RMSNormEps // compared elsewhere, with a tolerance
	return r.err != nil || r.h.Architecture != b.Model.Architecture || r.h.Dims != want
}

// parameters pairs the hyper-parameters of the file and of b.
func (r *Resolved) parameters(b *plan.Bundle) []parameter {
	h, m := &r.h, &b.Model
	want := wanted(h, m)
	return slices.Concat([]parameter{{"architecture", h.Architecture, m.Architecture}}, compared(&h.Dims, &want),
		layerParameters(h, m), ropeParameters(h, m), expertParameters(h, m), hybridParameters(h, m))
}

// wanted is the dimensions that a file with hyper-parameters h must have for m.
func wanted(h *gguf.HParams, m *plan.Model) plan.Dims {
	want := m.Dims
	want.NumHiddenLayers = cmp.Or(m.NextN, m.NumHiddenLayers)
	want.MaxPositionEmbeddings = h.MaxPositionEmbeddings // a bundle may have a longer context than the file
	if m.NextN > 0 || h.FirstKDenseReplace == 0 {
		want.IntermediateSize = h.IntermediateSize // no layer uses it
	}
	return want
}

// layerParameters pairs the hyper-parameters that depend on the layer and the position.
func layerParameters(h *gguf.HParams, m *plan.Model) []parameter {
	dense := m.DenseLayers()
	if m.NextN > 0 { // an MTP layer has none of them
		dense = h.FirstKDenseReplace
	}
	return []parameter{
		{"temperature.scale", h.Temperature.Scale, m.Temperature.Scale},
		{"temperature.length", h.Temperature.Length, m.Temperature.Length},
		{"first_k_dense_replace", h.FirstKDenseReplace, dense},
		{"n_routed_experts", h.NRoutedExperts, m.MoE.NRoutedExperts},
	}
}

// ropeParameters pairs the hyper-parameters of rotary angles and of the attention scale. With a YaRN factor
// of 1 the other constants of YaRN have no effect.
func ropeParameters(h *gguf.HParams, m *plan.Model) []parameter {
	s, want := h.RopeScaling, &m.Rope
	found := plan.Rope{Yarn: s.Type == "yarn" && s.Factor != 1, Factor: s.Factor, OriginalContext: s.OriginalContext, AttnFactor: s.AttnFactor}
	if s.Type == "none" {
		found.Factor = 1
	}
	if s.HasLogMultiplier {
		found.MScaleAllDim = s.LogMultiplier / 0.1
	}
	expected := *want
	expected.Yarn = want.Yarn && want.Factor != 1
	list := []parameter{
		{"rope_theta", h.RopeTheta, want.Theta},
		{"rope_scaling.type", scaling(&found), scaling(&expected)},
		{"rope_scaling.factor", found.Factor, expected.Factor},
		{"rope_scaling.attn_factor", found.AttnFactor, expected.AttnFactor},
	}
	if found.Yarn && expected.Yarn {
		list = append(list,
			parameter{"rope_scaling.original_max_position_embeddings", found.OriginalContext, expected.OriginalContext},
			parameter{"rope_scaling.mscale_all_dim", found.MScaleAllDim, expected.MScaleAllDim})
	}
	return list
}

// scaling describes the scaling of positions, with the names of the file format.
func scaling(r *plan.Rope) string {
	switch {
	case r.Yarn:
		return "yarn"
	case r.Factor != 1:
		return "linear"
	}
	return "none"
}

// expertParameters pairs the hyper-parameters of experts, if both sides have experts.
func expertParameters(h *gguf.HParams, m *plan.Model) []parameter {
	found, want := h.MoE, m.MoE
	if found.NRoutedExperts == 0 || want.NRoutedExperts == 0 {
		return nil
	}
	found.RoutedScalingFactor, want.RoutedScalingFactor = orOne(found.RoutedScalingFactor), orOne(want.RoutedScalingFactor)
	if found.NGroup, want.NGroup = max(found.NGroup, 1), max(want.NGroup, 1); found.NGroup == 1 {
		want.TopKGroup = found.TopKGroup // without groups it has no effect
	}
	want.NRoutedExperts, want.FirstKDenseReplace = found.NRoutedExperts, found.FirstKDenseReplace // these are compared for all models
	return compared(&found, &want)
}

// hybridParameters pairs the hyper-parameters of linear attention and of the other parts of hybrids.
func hybridParameters(h *gguf.HParams, m *plan.Model) []parameter {
	if h.Hybrid == nil && m.Hybrid == nil {
		return nil
	}
	var found, want plan.Hybrid
	for _, x := range []struct {
		to, from *plan.Hybrid
		moe      *plan.MoE
	}{{&found, h.Hybrid, &h.MoE}, {&want, m.Hybrid, &m.MoE}} {
		if x.from != nil {
			*x.to = *x.from
		}
		x.to.SharedIntermediateSize = cmp.Or(x.to.SharedIntermediateSize, x.moe.NSharedExperts*x.moe.MoEIntermediateSize)
	}
	list := slices.Concat(compared(&found.LinearAttention, &want.LinearAttention), compared(&found.HybridExperts, &want.HybridExperts))
	layers := max(h.NumHiddenLayers, m.NumHiddenLayers)
	if m.NextN > 0 { // in the file, its only layer follows the model's layers
		layers = m.NumHiddenLayers
	} else {
		list = append(list, parameter{"full_attn_layers", fmt.Sprint(found.FullAttnLayers), fmt.Sprint(want.FullAttnLayers)})
	}
	for i := range layers {
		of := m.NextN + i
		list = append(list, parameter{fmt.Sprintf("swiglu_limit of layer %d", of), found.Limit(of, false), want.Limit(i, false)},
			parameter{fmt.Sprintf("swiglu_limit_shared of layer %d", of), found.Limit(of, true), want.Limit(i, true)})
	}
	return list
}

// compared pairs the fields of two *plan.Dims, *plan.MoE or parts of a *plan.Hybrid.
func compared(found, want any) (list []parameter) {
	expected := hparams.Parameters(want)
	for i, p := range hparams.Parameters(found) {
		list = append(list, parameter{p.Name, reflect.ValueOf(p.Value).Elem().Interface(), reflect.ValueOf(expected[i].Value).Elem().Interface()})
	}
	return list
}

// orOne is a scaling factor, in which 0 means 1.
func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// parameter is one hyper-parameter, as found in a file and as compiled.
type parameter struct {
	name            string
	found, expected any
}

// floatTolerance is a relative tolerance. Files store float32, specs have decimal numbers, and mscale_all_dim
// is stored as a tenth of its value: that makes a few float32 roundings of 6e-8.
const floatTolerance = 1e-6

func (p parameter) equal() bool {
	if x, ok := p.found.(float64); ok {
		y := p.expected.(float64)
		return math.Abs(x-y) <= floatTolerance*max(math.Abs(x), math.Abs(y))
	}
	return p.found == p.expected
}

func (parameter) show(v any) string {
	if x, ok := v.(float64); ok {
		return fmt.Sprintf("%.7g", x)
	}
	return fmt.Sprint(v)
}
