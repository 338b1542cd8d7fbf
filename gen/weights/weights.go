// Package weights is the weight table: which tensors a model has, with their
// Hugging Face roles, GGUF names and shapes. It is the only place where GGUF
// tensor names appear.
package weights

import (
	"slices"
	"strconv"
	"strings"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// Row is one role of the model, with a tensor in each of a range of layers.
type Row struct {
	Role string // Hugging Face name without "model.layers.N." and ".weight"
	GGUF string // GGUF name; "%d" stands for the layer
	Alt  string // GGUF name of the tensor to take it from if a file has none of the first name; "": none
	// W has Batch entries (heads or experts) of Rows × Cols; Cols is
	// contiguous (GGUF ne[0]), vectors have Rows == 1.
	Cols, Rows, Batch int
	First, Last       int   // layers [First, Last); First -1: no layer
	Among             []int // the layers of that range that have the role, rising; nil: all
	Vector            bool  // norm weights and biases: one dimension, always F32
	F32               bool  // never quantised: vectors and the router
	// If RotaryRows > 0, RoPE rotates the last RotaryRows of every HeadRows rows, and the file has them in
	// halves, (i, i + n/2). Kernels need pairs.
	HeadRows, RotaryRows int
	Scale                float64 // a factor that a pass folded into this vector; 0: none
}

// Layers returns the number of tensors of the row; 1 if it is outside the layers.
func (r *Row) Layers() int {
	switch {
	case r.First < 0:
		return 1
	case r.Among != nil:
		return len(r.Among)
	}
	return r.Last - r.First
}

// Layer returns the number of the l-th layer that has the row; -1 if it is outside the layers.
func (r *Row) Layer(l int) int {
	switch {
	case r.First < 0:
		return -1
	case r.Among != nil:
		return r.Among[l]
	}
	return r.First + l
}

// Index is the inverse of Layer; -1 if the layer does not have the row.
func (r *Row) Index(layer int) int {
	switch {
	case r.First < 0 || layer < r.First || layer >= r.Last:
		return -1
	case r.Among != nil:
		return slices.Index(r.Among, layer)
	}
	return layer - r.First
}

// Numbers lists the numbers of the layers that have the row; nil if it is outside the layers.
func (r *Row) Numbers() (list []int) {
	for l := range r.Layers() {
		if r.First >= 0 {
			list = append(list, r.Layer(l))
		}
	}
	return list
}

// Name returns the GGUF name of the tensor in the l-th layer that has the row.
func (r *Row) Name(l int) string { return r.in(r.GGUF, l) }

// AltName is Name for the alternative tensor; "" if there is none.
func (r *Row) AltName(l int) string { return r.in(r.Alt, l) }

// in puts the number of the l-th layer into a name.
func (r *Row) in(pattern string, l int) string {
	return strings.Replace(pattern, "%d", strconv.Itoa(r.Layer(l)), 1)
}

// Elems is the number of elements of one tensor.
func (r *Row) Elems() int { return r.Cols * r.Rows * r.Batch }

// The roles. k_b and v_b are the key and value halves of HF's kv_b_proj; kv_b
// is that tensor itself, found in GGUF files from before April 2025.
const (
	EmbedTokens  = "embed_tokens"
	FinalNorm    = "norm"
	LMHead       = "lm_head"
	InputNorm    = "input_layernorm"
	QProj        = "self_attn.q_proj"
	QAProj       = "self_attn.q_a_proj"
	QANorm       = "self_attn.q_a_layernorm"
	QBProj       = "self_attn.q_b_proj"
	KVAProj      = "self_attn.kv_a_proj_with_mqa"
	KVANorm      = "self_attn.kv_a_layernorm"
	KB           = "self_attn.k_b_proj"
	VB           = "self_attn.v_b_proj"
	KVB          = "self_attn.kv_b_proj"
	OProj        = "self_attn.o_proj"
	PostNorm     = "post_attention_layernorm"
	GateProj     = "mlp.gate_proj"
	UpProj       = "mlp.up_proj"
	DownProj     = "mlp.down_proj"
	Router       = "mlp.gate"
	RouterBias   = "mlp.gate.e_score_correction_bias"
	ExpertsGate  = "mlp.experts.gate_proj"
	ExpertsUp    = "mlp.experts.up_proj"
	ExpertsDown  = "mlp.experts.down_proj"
	SharedGate   = "mlp.shared_experts.gate_proj"
	SharedUp     = "mlp.shared_experts.up_proj"
	SharedDown   = "mlp.shared_experts.down_proj"
	FusedGateUp  = "ffn_gate_up_exps" // GGUF only: gate rows, then up rows, per expert
	fusedGGUF    = "blk.%d.ffn_gate_up_exps.weight"
	legacyKVGGUF = "blk.%d.attn_kv_b.weight"
	linearGGUF   = "blk.%d.attn_qkv.weight"
	embedGGUF    = "token_embd.weight"
	finalGGUF    = "output_norm.weight"
	headGGUF     = "output.weight"
)

// Table lists the weights of s in the order of computation. A tied head has no row of its own: lm_head is
// embed_tokens.
func Table(s *spec.Spec) []Row {
	t := model(s)
	for i := range t {
		if t[i].Alt == "" {
			t[i].Alt = fused[t[i].Role]
		}
	}
	if s.NextN > 0 {
		return nextN(s, t)
	}
	return t
}

func model(s *spec.Spec) []Row {
	m := &s.Model
	arch := gguf.ArchitectureOf(s.Architecture)
	d, n := m.HiddenSize, m.NumHiddenLayers
	dense := n
	if s.MoE != nil {
		dense = s.MoE.FirstKDenseReplace
	}
	t := table{}
	t.add(-1, 0, EmbedTokens, embedGGUF, d, m.VocabSize, 1)
	t.vector(0, n, InputNorm, "blk.%d.attn_norm.weight", d)
	if s.Hybrid != nil {
		t.linear(s)
		t.among = s.Layers(false)
	}
	t.attention(m)
	if arch.HeadGates {
		t.add(0, n, HeadGate, "blk.%d.attn_gate.weight", d, m.NumAttentionHeads, 1)
	}
	t.among = nil
	if arch.HalfSplit {
		t.halfSplit(m)
	}
	t.vector(0, n, PostNorm, "blk.%d.ffn_norm.weight", d)
	if !arch.SquaredReLU {
		t.add(0, dense, GateProj, "blk.%d.ffn_gate.weight", d, m.IntermediateSize, 1)
	}
	t.add(0, dense, UpProj, "blk.%d.ffn_up.weight", d, m.IntermediateSize, 1)
	t.add(0, dense, DownProj, "blk.%d.ffn_down.weight", m.IntermediateSize, d, 1)
	if s.MoE != nil {
		t.experts(s, d, n)
	}
	t.vector(-1, 0, FinalNorm, finalGGUF, d)
	if !m.TieWordEmbeddings {
		t.add(-1, 0, LMHead, headGGUF, d, m.VocabSize, 1)
	}
	return t.rows
}

// attention adds the weights of every layer's attention block.
func (t *table) attention(m *spec.Model) {
	d, n, heads := m.HiddenSize, m.NumHiddenLayers, m.NumAttentionHeads
	dk := m.QKNopeHeadDim + m.QKRopeHeadDim
	if m.QLoraRank > 0 {
		t.add(0, n, QAProj, "blk.%d.attn_q_a.weight", d, m.QLoraRank, 1)
		t.vector(0, n, QANorm, "blk.%d.attn_q_a_norm.weight", m.QLoraRank)
		t.add(0, n, QBProj, "blk.%d.attn_q_b.weight", m.QLoraRank, heads*dk, 1)
	} else {
		t.add(0, n, QProj, "blk.%d.attn_q.weight", d, heads*dk, 1)
	}
	t.add(0, n, KVAProj, "blk.%d.attn_kv_a_mqa.weight", d, m.KVLoraRank+m.QKRopeHeadDim, 1)
	t.vector(0, n, KVANorm, "blk.%d.attn_kv_a_norm.weight", m.KVLoraRank)
	t.add(0, n, KB, "blk.%d.attn_k_b.weight", m.QKNopeHeadDim, m.KVLoraRank, heads)
	t.add(0, n, VB, "blk.%d.attn_v_b.weight", m.KVLoraRank, m.VHeadDim, heads)
	t.add(0, n, OProj, "blk.%d.attn_output.weight", heads*m.VHeadDim, d, 1)
}

// halfSplit marks the rows of weights that RoPE rotates.
func (t *table) halfSplit(m *spec.Model) {
	for i := range t.rows {
		switch r := &t.rows[i]; r.Role {
		case QProj, QBProj:
			r.HeadRows, r.RotaryRows = m.QKNopeHeadDim+m.QKRopeHeadDim, m.QKRopeHeadDim
		case KVAProj:
			r.HeadRows, r.RotaryRows = r.Rows, m.QKRopeHeadDim
		}
	}
}

// experts adds the weights of the MoE layers, up to layer n, of width d.
func (t *table) experts(s *spec.Spec, d, n int) {
	moe := s.MoE
	first, e, fe, fs := moe.FirstKDenseReplace, moe.NRoutedExperts, moe.MoEIntermediateSize, s.SharedWidth()
	t.f32(first, n, Router, "blk.%d.ffn_gate_inp.weight", d, e)
	if moe.SelectionBias {
		t.vector(first, n, RouterBias, "blk.%d.exp_probs_b.bias", e)
	}
	t.add(first, n, ExpertsGate, "blk.%d.ffn_gate_exps.weight", d, fe, e)
	t.add(first, n, ExpertsUp, "blk.%d.ffn_up_exps.weight", d, fe, e)
	t.add(first, n, ExpertsDown, "blk.%d.ffn_down_exps.weight", fe, d, e)
	if fs > 0 {
		t.add(first, n, SharedGate, "blk.%d.ffn_gate_shexp.weight", d, fs, 1)
		t.add(first, n, SharedUp, "blk.%d.ffn_up_shexp.weight", d, fs, 1)
		t.add(first, n, SharedDown, "blk.%d.ffn_down_shexp.weight", fs, d, 1)
	}
}

// LegacyKVB is the tensor that old files have instead of k_b and v_b: for each head qk_nope_head_dim key
// rows, then v_head_dim value rows.
func LegacyKVB(s *spec.Spec) Row {
	m := &s.Model
	return numbered(s, Row{Role: KVB, GGUF: legacyKVGGUF, Cols: m.KVLoraRank, Rows: m.NumAttentionHeads * (m.QKNopeHeadDim + m.VHeadDim),
		Batch: 1, First: 0, Last: m.NumHiddenLayers})
}

// FusedExperts is the tensor that some files have instead of the experts' gate and up projections. It needs a
// spec with experts.
func FusedExperts(s *spec.Spec) Row {
	return numbered(s, Row{Role: FusedGateUp, GGUF: fusedGGUF, Cols: s.Model.HiddenSize, Rows: 2 * s.MoE.MoEIntermediateSize,
		Batch: s.MoE.NRoutedExperts, First: s.MoE.FirstKDenseReplace, Last: s.Model.NumHiddenLayers})
}

// fused has the GGUF names of tensors that some files have in place of the tensors of several roles.
var fused = map[string]string{KB: legacyKVGGUF, VB: legacyKVGGUF, ExpertsGate: fusedGGUF, ExpertsUp: fusedGGUF,
	LinearQ: linearGGUF, LinearK: linearGGUF, LinearV: linearGGUF}

type table struct {
	rows  []Row
	among []int // the layers that get the rows that are added; nil: all
}

// put adds a row, unless no layer has it.
func (t *table) put(r Row) {
	if t.among != nil && r.First >= 0 {
		if len(t.among) == 0 {
			return
		}
		r.Among, r.First, r.Last = t.among, t.among[0], t.among[len(t.among)-1]+1
	}
	if r.First < 0 || r.First < r.Last {
		t.rows = append(t.rows, r)
	}
}

func (t *table) add(first, last int, role, gguf string, cols, rows, batch int) {
	t.put(Row{Role: role, GGUF: gguf, Cols: cols, Rows: rows, Batch: batch, First: first, Last: last})
}

func (t *table) f32(first, last int, role, gguf string, cols, rows int) {
	t.put(Row{Role: role, GGUF: gguf, Cols: cols, Rows: rows, Batch: 1, First: first, Last: last, F32: true})
}

func (t *table) vector(first, last int, role, gguf string, n int) {
	t.put(Row{Role: role, GGUF: gguf, Cols: n, Rows: 1, Batch: 1, First: first, Last: last, Vector: true, F32: true})
}
