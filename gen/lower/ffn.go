package lower

import (
	"mla/gen/ir"
	"mla/gen/weights"
)

// dense is x + W_down (silu(W_gate h) * W_up h), or for architectures without a gate x + W_down max(0, W_up
// h)², with h = norm(x). Layers of hybrids may have the limit of shared experts.
func (l *lowerer) dense(x *ir.Value) *ir.Value {
	h := l.norm("ffn_norm", weights.PostNorm, ir.All(x))
	var act *ir.Value
	if l.arch.SquaredReLU {
		up := l.matVec("up", weights.UpProj, ir.All(h), ir.Half)
		act = l.emit(&ir.Op{Kind: ir.SquaredReLU, Name: "squared_relu", In: []ir.Ref{ir.All(up)}}, up.Len, ir.Half)
	} else {
		gate := l.matVec("gate", weights.GateProj, ir.All(h), ir.Half)
		act = l.swiglu("swiglu", gate, l.matVec("up", weights.UpProj, ir.All(h), ir.Half))
		l.last().Limit = l.s.Hybrid.Limit(l.layer, true)
	}
	return l.addTo(x, "ffn_residual", l.matVec("down", weights.DownProj, ir.All(act), ir.F32))
}

// moe is x + Σ_i w_i down_i(silu(gate_i h) * up_i h) + shared(h) over the selected experts i, in the order of
// their selection. Some layers have a limit L on both factors of SwiGLU: min(silu(gate), L) and max(-L,
// min(up, L)).
func (l *lowerer) moe(x *ir.Value) *ir.Value {
	moe := l.s.MoE
	h := l.norm("ffn_norm", weights.PostNorm, ir.All(x))
	routing := l.gating(h)
	gate := l.experts("experts_gate", weights.ExpertsGate, ir.Ref{V: h, Len: h.Len}, routing, ir.Half)
	up := l.experts("experts_up", weights.ExpertsUp, ir.Ref{V: h, Len: h.Len}, routing, ir.Half)
	act := l.swiglu("experts_swiglu", gate, up)
	l.last().Limit = l.s.Hybrid.Limit(l.layer, false)
	if l.arch.F32Down {
		act.Elem = ir.F32
	}
	fe := moe.MoEIntermediateSize
	down := l.experts("experts_down", weights.ExpertsDown, ir.Batched(act, 0, fe, fe), routing, ir.F32)
	y := l.emit(&ir.Op{Kind: ir.WeightedSum, Name: "experts_sum", In: []ir.Ref{ir.All(down), ir.All(routing)}, K: moe.NumExpertsPerTok},
		l.s.Model.HiddenSize, ir.F32)
	if moe.NSharedExperts > 0 {
		y = l.add("add_shared", y, l.shared(h))
	}
	return l.addTo(x, "ffn_residual", y)
}

// shared is the shared experts: W_down (silu(W_gate h) * W_up h).
func (l *lowerer) shared(h *ir.Value) *ir.Value {
	gate := l.matVec("shared_gate", weights.SharedGate, ir.All(h), ir.Half)
	up := l.matVec("shared_up", weights.SharedUp, ir.All(h), ir.Half)
	act := l.swiglu("shared_swiglu", gate, up)
	l.last().Limit = l.s.Hybrid.Limit(l.layer, true)
	return l.matVec("shared_down", weights.SharedDown, ir.All(act), ir.F32)
}

// gating selects the experts and their weights: probabilities p from the router's logits, the K best of p (+
// bias, within the best groups), then the weights: p of the selected experts, normalised and scaled as the
// model says.
func (l *lowerer) gating(h *ir.Value) *ir.Value {
	moe := l.s.MoE
	logits := l.matVec("router", weights.Router, ir.All(h), ir.F32)
	p := l.emit(&ir.Op{Kind: ir.Scores, Name: "scores", In: []ir.Ref{ir.All(logits)}}, logits.Len, ir.F32)
	top := &ir.Op{Kind: ir.TopK, Name: "top_k", In: []ir.Ref{ir.All(p)}, K: moe.NumExpertsPerTok}
	if moe.SelectionBias {
		top.W = l.weight(weights.RouterBias)
	}
	idx := l.emit(top, moe.NumExpertsPerTok, ir.Route)
	return l.emit(&ir.Op{Kind: ir.RouteWeights, Name: "routing", In: []ir.Ref{ir.All(p), ir.All(idx)}, K: moe.NumExpertsPerTok},
		moe.NumExpertsPerTok, ir.Route)
}

func (l *lowerer) experts(name, role string, in ir.Ref, routing *ir.Value, elem ir.Elem) *ir.Value {
	w := l.weight(role)
	op := &ir.Op{Kind: ir.ExpertsMatVec, Name: name, In: []ir.Ref{in, ir.All(routing)}, W: w, K: l.s.MoE.NumExpertsPerTok}
	return l.emit(op, op.K*l.p.Weights[w[0].Row].Rows, elem)
}
