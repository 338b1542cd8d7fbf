package weights

import (
	"mla/gen/spec"
	"mla/runtime/gguf"
)

// The roles of layers with linear attention (Kimi Delta Attention), and of the head gates of multi-head
// latent attention. Without low-rank gates LinearFA and LinearGA are the whole projections, and LinearFB and
// LinearGB do not exist.
const (
	LinearQ     = "linear_attn.q_proj"
	LinearK     = "linear_attn.k_proj"
	LinearV     = "linear_attn.v_proj"
	LinearQConv = "linear_attn.q_conv1d"
	LinearKConv = "linear_attn.k_conv1d"
	LinearVConv = "linear_attn.v_conv1d"
	LinearFA    = "linear_attn.f_a_proj"
	LinearFB    = "linear_attn.f_b_proj"
	LinearDT    = "linear_attn.dt_bias"
	LinearA     = "linear_attn.A" // exp(A_log), with the sign that files of the architecture have
	LinearB     = "linear_attn.b_proj"
	LinearGA    = "linear_attn.g_a_proj"
	LinearGB    = "linear_attn.g_b_proj"
	LinearNorm  = "linear_attn.o_norm"
	LinearO     = "linear_attn.o_proj"
	HeadGate    = "self_attn.gate_proj"
)

// linear adds the weights of layers with linear attention, except the norm before it.
func (t *table) linear(s *spec.Spec) {
	d, n, heads, inner, head := s.Model.HiddenSize, s.Model.NumHiddenLayers, s.Model.NumAttentionHeads, s.LinearWidth(), s.Hybrid.HeadDim
	taps := s.Hybrid.ShortConvKernelSize
	low := gguf.ArchitectureOf(s.Architecture).LowRankGates
	gate := inner
	if low {
		gate = head
	}
	t.among = s.Layers(true)
	t.add(0, n, LinearQ, "blk.%d.attn_q.weight", d, inner, 1)
	t.add(0, n, LinearK, "blk.%d.attn_k.weight", d, inner, 1)
	t.add(0, n, LinearV, "blk.%d.attn_v.weight", d, inner, 1)
	t.add(0, n, LinearFA, "blk.%d.ssm_f_a.weight", d, gate, 1)
	t.add(0, n, LinearB, "blk.%d.ssm_beta.weight", d, heads, 1)
	t.add(0, n, LinearGA, "blk.%d.ssm_g_a.weight", d, gate, 1)
	if low {
		t.add(0, n, LinearFB, "blk.%d.ssm_f_b.weight", head, inner, 1)
		t.add(0, n, LinearGB, "blk.%d.ssm_g_b.weight", head, inner, 1)
	}
	t.f32(0, n, LinearQConv, "blk.%d.ssm_conv1d_q.weight", taps, inner)
	t.f32(0, n, LinearKConv, "blk.%d.ssm_conv1d_k.weight", taps, inner)
	t.f32(0, n, LinearVConv, "blk.%d.ssm_conv1d_v.weight", taps, inner)
	t.vector(0, n, LinearDT, "blk.%d.ssm_dt.bias", inner)
	t.f32(0, n, LinearA, "blk.%d.ssm_a", 1, heads)
	t.vector(0, n, LinearNorm, "blk.%d.ssm_norm.weight", head)
	t.add(0, n, LinearO, "blk.%d.attn_output.weight", inner, d, 1)
	t.among = nil
}
