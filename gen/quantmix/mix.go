package quantmix

import (
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// mix is one stock file type: a base type for all matrices, and exceptions for weights that suffer most from
// few bits. F32, the zero value, means no exception.
type mix struct {
	name     string
	fileType uint32 // llama_ftype
	base     quant.Type

	head   quant.Type // of the matrix that makes the logits; default Q6_K
	embed  quant.Type // of the embedding, if that is another matrix
	qProj  quant.Type // of q_proj, in models without low-rank queries
	oProj  quant.Type
	gateUp rules // feed-forward gate and up projections

	down        rules // feed-forward down projections
	downPlain   rules // the same, but only without an importance matrix
	downIMatrix rules // the same, but only with one
	down8       rules // the same, but only in models of exactly eight experts
	// downFirst is the type of the first down projections, an eighth of the number of layers. A layer of
	// experts has two of them, so this covers fewer layers.
	downFirst quant.Type

	kvB      rules      // the legacy kv_b_proj, which counts as a value projection
	kvBPlain quant.Type // the same, but only without an importance matrix
	// kvBMany is the same, for models with at least four experts. Without it, models with exactly eight
	// experts have Q8_0.
	kvBMany quant.Type
	// oProj8 replaces oProj in models with exactly eight experts, a rule that was made for Mixtral but
	// applies to all.
	oProj8 quant.Type
}

// bump gives some layers another type.
type bump struct {
	layers layerRule
	to     quant.Type
}

// rules are bumps. The last one that matches counts.
type rules []bump

// layerRule reports whether layer i of n is selected.
type layerRule func(i, n int) bool

// moreBits selects the first and last eighth, and every third layer between them.
func moreBits(i, n int) bool { return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2 }

func firstEighth(i, n int) bool { return i < n/8 }

func firstSixteenth(i, n int) bool { return i < n/16 }

func middle(i, n int) bool { return i >= n/8 && i < 7*n/8 }

func firstTwo(i, _ int) bool { return i < 2 }

func firstFour(i, _ int) bool { return i < 4 }

func all(int, int) bool { return true }

var mixes = []mix{
	{name: "f32", fileType: 0, base: quant.F32},
	{name: "f16", fileType: 1, base: quant.F16},
	{name: "bf16", fileType: 32, base: quant.BF16},
	{name: "q8_0", fileType: 7, base: quant.Q8_0, head: quant.Q8_0},
	{name: "q6_k", fileType: 18, base: quant.Q6_K},
	{name: "q5_k_m", fileType: 17, base: quant.Q5_K, down: rules{{moreBits, quant.Q6_K}}, kvB: rules{{moreBits, quant.Q6_K}}},
	{name: "q5_k_s", fileType: 16, base: quant.Q5_K},
	{name: "q5_1", fileType: 9, base: quant.Q5_1},
	{name: "q5_0", fileType: 8, base: quant.Q5_0, downIMatrix: rules{{firstEighth, quant.Q5_1}}},
	{name: "q4_k_m", fileType: 15, base: quant.Q4_K, down: rules{{moreBits, quant.Q6_K}}, kvB: rules{{moreBits, quant.Q6_K}}, oProj8: quant.Q5_K},
	{name: "q4_k_s", fileType: 14, base: quant.Q4_K, down: rules{{firstEighth, quant.Q5_K}}, kvB: rules{{firstFour, quant.Q5_K}}, oProj8: quant.Q5_K},
	{name: "q4_1", fileType: 3, base: quant.Q4_1},
	{name: "q4_0", fileType: 2, base: quant.Q4_0, downIMatrix: rules{{firstEighth, quant.Q4_1}}},
	{name: "iq4_xs", fileType: 30, base: quant.IQ4_XS, downPlain: rules{{firstEighth, quant.Q5_K}}, oProj8: quant.Q5_K},
	{name: "iq4_nl", fileType: 25, base: quant.IQ4_NL, downPlain: rules{{firstEighth, quant.Q5_K}}, oProj8: quant.Q5_K},
	{name: "q3_k_l", fileType: 13, base: quant.Q3_K, oProj: quant.Q5_K, down: rules{{all, quant.Q5_K}}, kvB: rules{{all, quant.Q5_K}}},
	{name: "q3_k_m", fileType: 12, base: quant.Q3_K, oProj: quant.Q4_K, oProj8: quant.Q5_K,
		down: rules{{all, quant.Q4_K}, {firstSixteenth, quant.Q5_K}}, kvB: rules{{all, quant.Q4_K}, {firstTwo, quant.Q5_K}}},
	{name: "q3_k_s", fileType: 11, base: quant.Q3_K, oProj8: quant.Q5_K},
	{name: "iq3_m", fileType: 27, base: quant.IQ3_S, oProj: quant.Q4_K, oProj8: quant.Q5_K,
		down: rules{{firstEighth, quant.Q4_K}}, down8: rules{{moreBits, quant.Q4_K}}, kvB: rules{{all, quant.Q4_K}}},
	{name: "iq3_s", fileType: 26, base: quant.IQ3_S, oProj8: quant.Q5_K},
	{name: "iq3_xs", fileType: 22, base: quant.IQ3_S, qProj: quant.IQ3_XXS, oProj8: quant.Q5_K, gateUp: rules{{middle, quant.IQ3_XXS}}},
	{name: "iq3_xxs", fileType: 23, base: quant.IQ3_XXS, head: quant.Q5_K, embed: quant.IQ3_S, qProj: quant.IQ2_S,
		oProj: quant.IQ3_S, oProj8: quant.Q5_K, downPlain: rules{{all, quant.Q3_K}, {firstEighth, quant.Q4_K}}, kvBPlain: quant.IQ3_S},
	{name: "q2_k", fileType: 10, base: quant.Q2_K, oProj: quant.Q3_K, oProj8: quant.Q5_K, down: rules{{all, quant.Q3_K}}, kvB: rules{{all, quant.Q3_K}}},
	{name: "q2_k_s", fileType: 21, base: quant.Q2_K, down: rules{{firstEighth, quant.Q4_K}}},
	{name: "iq2_m", fileType: 29, base: quant.IQ2_S, head: quant.Q5_K, embed: quant.IQ3_S, oProj: quant.IQ3_S, oProj8: quant.Q5_K,
		downFirst: quant.IQ3_S, kvB: rules{{all, quant.IQ3_S}}, kvBMany: quant.Q4_K},
	{name: "iq2_s", fileType: 28, base: quant.IQ2_XS, head: quant.Q5_K, embed: quant.IQ3_S, oProj: quant.IQ3_S, oProj8: quant.Q5_K,
		downFirst: quant.IQ3_S, kvB: rules{{all, quant.IQ3_S}}, kvBMany: quant.Q4_K},
	{name: "iq2_xs", fileType: 20, base: quant.IQ2_XS, head: quant.Q5_K, embed: quant.Q2_K, oProj8: quant.Q5_K,
		downFirst: quant.Q2_K, kvB: rules{{all, quant.Q2_K}}, kvBMany: quant.Q4_K},
	{name: "iq2_xxs", fileType: 19, base: quant.IQ2_XXS, head: quant.Q5_K, embed: quant.Q2_K, oProj8: quant.Q5_K,
		downFirst: quant.Q2_K, kvB: rules{{all, quant.Q2_K}}, kvBMany: quant.Q4_K},
	{name: "iq1_m", fileType: 31, base: quant.IQ1_M, head: quant.Q5_K, embed: quant.Q2_K, oProj: quant.IQ2_XXS, oProj8: quant.Q5_K,
		downFirst: quant.Q2_K, kvB: rules{{all, quant.Q2_K}}, kvBMany: quant.Q4_K},
	{name: "iq1_s", fileType: 24, base: quant.IQ1_S, head: quant.Q5_K, embed: quant.Q2_K, oProj: quant.IQ2_XXS, oProj8: quant.Q5_K,
		downFirst: quant.Q2_K, kvB: rules{{all, quant.Q2_K}}, kvBMany: quant.Q4_K},
	{name: "tq2_0", fileType: 37, base: quant.TQ2_0, embed: quant.Q4_K},
	{name: "tq1_0", fileType: 36, base: quant.TQ1_0, embed: quant.Q4_K},
}

// fallbacks has the replacements of types with blocks of 256, for rows that are no multiple of 256.
var fallbacks = map[quant.Type]quant.Type{
	quant.Q2_K:    quant.Q4_0,
	quant.Q3_K:    quant.Q4_0,
	quant.TQ1_0:   quant.Q4_0,
	quant.TQ2_0:   quant.Q4_0,
	quant.Q4_K:    quant.Q5_0,
	quant.Q5_K:    quant.Q5_1,
	quant.Q6_K:    quant.Q8_0,
	quant.IQ1_S:   quant.IQ4_NL,
	quant.IQ1_M:   quant.IQ4_NL,
	quant.IQ2_XXS: quant.IQ4_NL,
	quant.IQ2_XS:  quant.IQ4_NL,
	quant.IQ2_S:   quant.IQ4_NL,
	quant.IQ3_XXS: quant.IQ4_NL,
	quant.IQ3_S:   quant.IQ4_NL,
	quant.IQ4_XS:  quant.IQ4_NL,
}

// isFloat reports whether a type is not quantised.
func isFloat(t quant.Type) bool { return t == quant.F32 || t == quant.F16 || t == quant.BF16 }

// typeOf returns the type of a matrix in one layer.
func (m *mix) typeOf(s *spec.Spec, row *weights.Row, layer int, imatrix bool) quant.Type {
	if isFloat(m.base) {
		return m.base
	}
	n := s.Model.NumHiddenLayers + s.Model.NumNextNPredictLayers
	if s.NextN > 0 { // it is the last of the file's layers
		layer, n = s.NextN+layer, s.NextN+n
	}
	t := m.base
	switch row.Role {
	case weights.LMHead:
		t = m.headType(row.Cols)
	case weights.SharedHead:
		if gguf.ArchitectureOf(s.Architecture).SharedHead { // the layer uses the model's head
			t = m.headType(row.Cols)
		}
	case weights.EmbedTokens:
		t = or(m.embed, t)
		if s.Model.TieWordEmbeddings {
			t = m.headType(row.Cols)
		}
	case weights.GateProj, weights.UpProj, weights.ExpertsGate, weights.ExpertsUp, weights.SharedGate, weights.SharedUp:
		t = m.gateUp.apply(t, layer, n)
	case weights.DownProj, weights.ExpertsDown, weights.SharedDown:
		t = m.downType(s, row.Role, layer, n, imatrix)
	case weights.KVB:
		t = m.kvBType(experts(s), layer, n, imatrix)
	case weights.QProj, weights.LinearQ:
		t = or(m.qProj, t)
	case weights.LinearK:
		if t = or(m.qProj, t); experts(s) == 8 {
			t = quant.Q8_0
		}
	case weights.LinearV: // the quantiser counts layers with attn_v, which only layers with linear attention have
		t = m.kvBType(experts(s), row.Index(layer), row.Layers(), imatrix)
	case weights.OProj, weights.LinearO:
		t = or(m.oProj, t)
		if experts(s) == 8 {
			t = or(m.oProj8, m.base)
		}
	}
	return fit(t, row.Cols)
}

// or returns t, or none if t is F32, which means no exception.
func or(t, none quant.Type) quant.Type {
	if t == quant.F32 {
		return none
	}
	return t
}

func experts(s *spec.Spec) int {
	if s.MoE == nil {
		return 0
	}
	return s.MoE.NRoutedExperts
}

// headType returns the type of the matrix that makes the logits.
func (m *mix) headType(cols int) quant.Type {
	if !divides(m.base, cols) {
		return quant.Q8_0
	}
	return or(m.head, quant.Q6_K)
}

func (m *mix) downType(s *spec.Spec, role string, layer, n int, imatrix bool) quant.Type {
	t := m.down.apply(m.base, layer, n)
	if experts(s) == 8 {
		t = m.down8.apply(t, layer, n)
	}
	if m.downFirst != quant.F32 && firstEighth(downBefore(s, role, layer), n) {
		t = m.downFirst
	}
	if imatrix {
		return m.downIMatrix.apply(t, layer, n)
	}
	return m.downPlain.apply(t, layer, n)
}

// downBefore returns how many down projections come before that of a role in a layer. Those of routed experts
// come before those of shared experts.
func downBefore(s *spec.Spec, role string, layer int) int {
	if s.MoE == nil || layer < s.MoE.FirstKDenseReplace || s.MoE.NSharedExperts == 0 {
		return layer
	}
	before := layer + (layer - s.MoE.FirstKDenseReplace)
	if role == weights.SharedDown {
		before++
	}
	return before
}

func (m *mix) kvBType(experts, layer, n int, imatrix bool) quant.Type {
	t := m.kvB.apply(m.base, layer, n)
	switch {
	case m.kvBMany != quant.F32 && experts >= 4:
		return m.kvBMany
	case m.kvBMany == quant.F32 && experts == 8:
		return quant.Q8_0
	case !imatrix:
		return or(m.kvBPlain, t)
	}
	return t
}

func (r rules) apply(t quant.Type, layer, n int) quant.Type {
	for _, b := range r {
		if b.layers(layer, n) {
			t = b.to
		}
	}
	return t
}

// fit returns t, or its replacement for rows that are not whole blocks of t.
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
