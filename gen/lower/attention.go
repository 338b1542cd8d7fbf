package lower

import (
	"mla/gen/ir"
	"mla/gen/weights"
)

// attention is multi-head latent attention with its residual: x + W_O [softmax(scale (q_nope·W_UK c_j +
// q_pe·k_pe_j)) W_UV c_j]_h. With a temperature, the scale grows with the query's position. With head gates,
// head h is multiplied by element h of σ(W_gate x).
func (l *lowerer) attention(x *ir.Value) *ir.Value {
	m := &l.s.Model
	heads, nope, rope, c := m.NumAttentionHeads, m.QKNopeHeadDim, m.QKRopeHeadDim, m.KVLoraRank
	dk := nope + rope
	h := l.norm("attn_norm", weights.InputNorm, ir.All(x))
	q := l.query(h)
	cache := l.latent(h)
	var gate *ir.Value
	if l.arch.HeadGates {
		gate = l.matVec("head_gate", weights.HeadGate, ir.All(h), ir.F32)
	}

	keys := l.expand("expand_keys", weights.KB, cache, heads*nope, true)
	values := l.expand("expand_values", weights.VB, cache, heads*m.VHeadDim, false)
	o := l.emit(&ir.Op{Kind: ir.Attention, Name: "attention", Heads: heads, Temperature: l.s.Temperature, In: []ir.Ref{
		ir.Batched(q, 0, nope, dk), ir.Batched(q, nope, rope, dk), ir.All(keys), ir.All(values), ir.Slice(cache, c, rope),
	}}, heads*m.VHeadDim, ir.Half)
	if l.arch.HeadGates {
		o = l.emit(&ir.Op{Kind: ir.GateHeads, Name: "gate_heads", Heads: heads,
			In: []ir.Ref{perHead(o, heads), perHead(gate, heads)}}, o.Len, ir.Half)
	}
	return l.addTo(x, "attn_residual", l.matVec("o_proj", weights.OProj, ir.All(o), ir.F32))
}

// perHead returns a reference to v cut into equal vectors, one for each head.
func perHead(v *ir.Value, heads int) ir.Ref {
	return ir.Batched(v, 0, v.Len/heads, v.Len/heads)
}

// query is q = W_Q h, or with low rank W_QB norm(W_QA h). The last qk_rope_head_dim elements of each head are
// rotated, unless the architecture has no RoPE.
func (l *lowerer) query(h *ir.Value) *ir.Value {
	m := &l.s.Model
	var q *ir.Value
	if m.QLoraRank > 0 {
		qa := l.matVec("q_a", weights.QAProj, ir.All(h), ir.Half)
		q = l.matVec("q_b", weights.QBProj, ir.All(l.norm("q_a_norm", weights.QANorm, ir.All(qa))), ir.Half)
	} else {
		q = l.matVec("q", weights.QProj, ir.All(h), ir.Half)
	}
	if l.arch.NoRope {
		return q
	}
	dk := m.QKNopeHeadDim + m.QKRopeHeadDim
	return l.rope("q_rope", ir.Batched(q, 0, dk, dk), m.NumAttentionHeads)
}

// latent stores the cache row of this position, [norm(c) | rope(k_pe)], or [norm(c) | k_pe] if the
// architecture has no RoPE. It returns the layer's cache.
func (l *lowerer) latent(h *ir.Value) *ir.Value {
	m := &l.s.Model
	kva := l.matVec("kv_a", weights.KVAProj, ir.All(h), ir.Half)
	lat := l.norm("kv_a_norm", weights.KVANorm, ir.Slice(kva, 0, m.KVLoraRank))
	kpe := ir.Slice(kva, m.KVLoraRank, m.QKRopeHeadDim)
	if !l.arch.NoRope {
		kpe = ir.All(l.rope("k_rope", kpe, 1))
	}
	cache := l.emit(&ir.Op{Kind: ir.StoreKV, Name: "store_kv", In: []ir.Ref{ir.All(lat), kpe}},
		m.KVLoraRank+m.QKRopeHeadDim, ir.F32)
	cache.Class = ir.Cache
	return cache
}

func (l *lowerer) rope(name string, in ir.Ref, heads int) *ir.Value {
	return l.emit(&ir.Op{Kind: ir.Rope, Name: name, In: []ir.Ref{in}, Heads: heads, Halves: l.arch.HalfSplit}, heads*in.Stride, ir.Half)
}

// expand multiplies all cached latent rows by a weight of each head: W_UK (transposed) or W_UV.
func (l *lowerer) expand(name, role string, cache *ir.Value, n int, transposed bool) *ir.Value {
	v := l.emit(&ir.Op{Kind: ir.Expand, Name: name, W: l.weight(role), Transposed: transposed, Heads: l.s.Model.NumAttentionHeads,
		In: []ir.Ref{ir.Slice(cache, 0, l.s.Model.KVLoraRank)}}, n, ir.F32)
	v.Dynamic = true
	return v
}
