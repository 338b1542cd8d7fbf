package lower

import (
	"math"

	"mla/gen/ir"
	"mla/gen/weights"
)

// linear is Kimi Delta Attention (arXiv 2510.26692, section 3) with its residual. Per head, with a state S of key
// rows and value columns, which begins with zeros:
//
//	q, k = l2norm(silu(conv(W_q h))), l2norm(silu(conv(W_k h))); v = silu(conv(W_v h)); β = σ(W_β h)
//	S = diag(decay) S; S = S + k (β (v - Sᵀ k))ᵀ; o = Sᵀ q / √d
//	x + W_O (rms(o) ⊙ w ⊙ σ(gate))
//
// Everything between the projections is float32 even if activations are halves, because the rounding errors
// of a state would add up over a text.
func (l *lowerer) linear(x *ir.Value) *ir.Value {
	m := &l.s.Model
	heads, n, eps := m.NumAttentionHeads, l.s.Hybrid.HeadDim, m.RMSNormEps
	h := l.norm("attn_norm", weights.InputNorm, ir.All(x))
	var qkv []ir.Ref
	for _, p := range []struct{ name, role, conv string }{
		{"linear_q", weights.LinearQ, weights.LinearQConv},
		{"linear_k", weights.LinearK, weights.LinearKConv},
		{"linear_v", weights.LinearV, weights.LinearVConv},
	} {
		v := l.convolved(p.name, p.conv, l.matVec(p.name, p.role, ir.All(h), ir.F32))
		if p.role != weights.LinearV {
			v = l.perHead(ir.L2Norm, p.name+"_norm", heads, v)
			l.last().Eps = eps
		}
		qkv = append(qkv, perHead(v, heads))
	}
	decay := l.decay(l.gate("linear_f", weights.LinearFA, weights.LinearFB, h))
	beta := l.elementwise(ir.Sigmoid, "linear_beta_sigmoid", l.matVec("linear_beta", weights.LinearB, ir.All(h), ir.F32))
	o := l.emit(&ir.Op{Kind: ir.DeltaRule, Name: "delta_rule", Heads: heads, Scale: 1 / math.Sqrt(float64(n)),
		In: append(qkv, perHead(decay, heads), perHead(beta, heads)), State: l.state("linear_state", heads*n*n)}, heads*n, ir.F32)
	z := l.gate("linear_g", weights.LinearGA, weights.LinearGB, h)
	o = l.emit(&ir.Op{Kind: ir.GatedNorm, Name: "linear_o_norm", Heads: heads, Eps: eps, W: l.weight(weights.LinearNorm),
		In: []ir.Ref{perHead(o, heads), perHead(z, heads)}}, heads*n, ir.Half)
	return l.addTo(x, "attn_residual", l.matVec("linear_o", weights.LinearO, ir.All(o), ir.F32))
}

// convolved is silu(conv(in)), a causal convolution over the last tokens. Its state holds the inputs of the
// tokens before.
func (l *lowerer) convolved(name, role string, in *ir.Value) *ir.Value {
	taps := l.s.Hybrid.ShortConvKernelSize
	y := l.emit(&ir.Op{Kind: ir.Convolve, Name: name + "_conv", In: []ir.Ref{ir.All(in)}, W: l.weight(role),
		State: l.state(name+"_window", (taps-1)*in.Len)}, in.Len, ir.F32)
	return l.elementwise(ir.SiLU, name+"_silu", y)
}

// gate is W_a h, or with low-rank gates W_b (W_a h).
func (l *lowerer) gate(name, a, b string, h *ir.Value) *ir.Value {
	if !l.arch.LowRankGates {
		return l.matVec(name, a, ir.All(h), ir.F32)
	}
	return l.matVec(name+"_b", b, ir.All(l.matVec(name+"_a", a, ir.All(h), ir.Half)), ir.F32)
}

// decay is the factor on each row of the state: exp(A softplus(f + dt)), or for architectures with a bounded
// gate exp(bound σ(A (f + dt))).
func (l *lowerer) decay(f *ir.Value) *ir.Value {
	heads := l.s.Model.NumAttentionHeads
	kind := ir.SoftplusDecay
	if l.arch.BoundedGate {
		kind = ir.BoundedDecay
	}
	v := l.perHead(kind, "linear_decay", heads, f)
	op := l.last()
	op.W = append(l.weight(weights.LinearA), l.weight(weights.LinearDT)...)
	op.Limit = l.s.Hybrid.GateLowerBound
	return v
}

func (l *lowerer) perHead(kind ir.Kind, name string, heads int, in *ir.Value) *ir.Value {
	return l.emit(&ir.Op{Kind: kind, Name: name, Heads: heads, In: []ir.Ref{perHead(in, heads)}}, in.Len, ir.F32)
}

func (l *lowerer) elementwise(kind ir.Kind, name string, in *ir.Value) *ir.Value {
	return l.emit(&ir.Op{Kind: kind, Name: name, In: []ir.Ref{ir.All(in)}}, in.Len, ir.F32)
}

// state returns a value of n elements that this layer keeps for each session.
func (l *lowerer) state(name string, n int) *ir.Value {
	v := l.p.NewValue(name, l.layer, n)
	v.Class = ir.State
	return v
}
