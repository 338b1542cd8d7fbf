package quantmix

import (
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/quant"
)

// mix is one stock file type: a base type for all matrices, and what deviates
// from it for the weights that suffer most from few bits.
type mix struct {
	name     string
	fileType uint32 // llama_ftype
	base     quant.Type

	down        bump // feed-forward down projections
	downPlain   bump // the same, but only without an importance matrix
	downIMatrix bump // the same, but only with one
	kvB         bump // the legacy kv_b_proj, which counts as a value projection
	// oProj8 is the type of o_proj in models of exactly eight experts (a rule
	// made for Mixtral that the quantiser applies to all); F32, the zero, is none.
	oProj8 quant.Type
}

// bump gives the layers that match another type; the zero bump matches none.
type bump struct {
	layers layerRule
	to     quant.Type
}

// layerRule picks layers i of n.
type layerRule func(i, n int) bool

// moreBits picks the first and last eighth and every third layer between them.
func moreBits(i, n int) bool { return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2 }

func firstEighth(i, n int) bool { return i < n/8 }

func firstFour(i, _ int) bool { return i < 4 }

var mixes = []mix{
	{name: "f32", fileType: 0, base: quant.F32},
	{name: "f16", fileType: 1, base: quant.F16},
	{name: "bf16", fileType: 32, base: quant.BF16},
	{name: "q8_0", fileType: 7, base: quant.Q8_0},
	{name: "q6_k", fileType: 18, base: quant.Q6_K},
	{name: "q5_k_m", fileType: 17, base: quant.Q5_K, down: bump{moreBits, quant.Q6_K}, kvB: bump{moreBits, quant.Q6_K}},
	{name: "q5_k_s", fileType: 16, base: quant.Q5_K},
	{name: "q5_1", fileType: 9, base: quant.Q5_1},
	{name: "q5_0", fileType: 8, base: quant.Q5_0, downIMatrix: bump{firstEighth, quant.Q5_1}},
	{name: "q4_k_m", fileType: 15, base: quant.Q4_K, down: bump{moreBits, quant.Q6_K}, kvB: bump{moreBits, quant.Q6_K}, oProj8: quant.Q5_K},
	{name: "q4_k_s", fileType: 14, base: quant.Q4_K, down: bump{firstEighth, quant.Q5_K}, kvB: bump{firstFour, quant.Q5_K}, oProj8: quant.Q5_K},
	{name: "q4_1", fileType: 3, base: quant.Q4_1},
	{name: "q4_0", fileType: 2, base: quant.Q4_0, downIMatrix: bump{firstEighth, quant.Q4_1}},
	{name: "iq4_xs", fileType: 30, base: quant.IQ4_XS, downPlain: bump{firstEighth, quant.Q5_K}, oProj8: quant.Q5_K},
	{name: "iq4_nl", fileType: 25, base: quant.IQ4_NL, downPlain: bump{firstEighth, quant.Q5_K}, oProj8: quant.Q5_K},
}

// fallbacks replace types with blocks of 256 in rows that are no multiple of it.
var fallbacks = map[quant.Type]quant.Type{
	quant.Q4_K:   quant.Q5_0,
	quant.Q5_K:   quant.Q5_1,
	quant.Q6_K:   quant.Q8_0,
	quant.IQ4_XS: quant.IQ4_NL,
}

// isFloat reports the types that are not quantised.
func isFloat(t quant.Type) bool { return t == quant.F32 || t == quant.F16 || t == quant.BF16 }

// typeOf is the type of a matrix in one layer.
func (m *mix) typeOf(s *spec.Spec, row *weights.Row, layer int, imatrix bool) quant.Type {
	if isFloat(m.base) {
		return m.base
	}
	n := s.Model.NumHiddenLayers + s.Model.NumNextNPredictLayers
	if s.NextN > 0 { // the last of the file's layers
		layer, n = s.NextN+layer, s.NextN+n
	}
	eight := s.MoE != nil && s.MoE.NRoutedExperts == 8
	t := m.base
	switch row.Role {
	case weights.LMHead:
		t = m.head(row.Cols)
	case weights.EmbedTokens:
		if s.Model.TieWordEmbeddings {
			t = m.head(row.Cols)
		}
	case weights.DownProj, weights.ExpertsDown, weights.SharedDown:
		t = m.downType(layer, n, imatrix)
	case weights.KVB:
		t = m.kvB.apply(t, layer, n)
		if eight {
			t = quant.Q8_0
		}
	case weights.OProj:
		if eight && m.oProj8 != quant.F32 {
			t = m.oProj8
		}
	}
	return fit(t, row.Cols)
}

// head is the type of the matrix that makes the logits.
func (m *mix) head(cols int) quant.Type {
	if m.base == quant.Q8_0 || !divides(m.base, cols) {
		return quant.Q8_0
	}
	return quant.Q6_K
}

func (m *mix) downType(layer, n int, imatrix bool) quant.Type {
	t := m.down.apply(m.base, layer, n)
	if imatrix {
		return m.downIMatrix.apply(t, layer, n)
	}
	return m.downPlain.apply(t, layer, n)
}

func (b bump) apply(t quant.Type, layer, n int) quant.Type {
	if b.layers != nil && b.layers(layer, n) {
		return b.to
	}
	return t
}

// fit returns t, or what replaces it in rows that are not whole blocks of it.
func fit(t quant.Type, cols int) quant.Type {
	if divides(t, cols) {
		return t
	}
	if smaller, ok := fallbacks[t]; ok && divides(smaller, cols) {
		return smaller
	}
	return quant.F16
}

func divides(t quant.Type, cols int) bool {
	f, ok := quant.Lookup(t)
	return ok && cols%f.BlockElems == 0
}
