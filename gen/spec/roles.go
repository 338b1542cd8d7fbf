package spec

import (
	"slices"

	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// role is a weight that a quant profile gives types to. Package weights has the full table of weights; tests
// in both packages compare them.
type role struct {
	name        string
	first, last int   // layers [first, last); first is -1 outside the layers
	cols        int   // elements of a row, which must be a whole number of blocks
	among       []int // the layers that have the role, rising; nil: all of [first, last)
}

// layers is the number of layers that have the role; 1 for a role outside the layers.
func (r *role) layers() int {
	switch {
	case r.first < 0:
		return 1
	case r.among != nil:
		return len(r.among)
	}
	return r.last - r.first
}

// layer is the number of the i-th layer that has the role.
func (r *role) layer(i int) int {
	if r.among != nil {
		return r.among[i]
	}
	return r.first + i
}

// index is the inverse of layer: the place of a layer in [first, last) among the layers that have the role;
// -1 if it is not among them.
func (r *role) index(layer int) int {
	if r.among != nil {
		return slices.Index(r.among, layer)
	}
	return layer - r.first
}

// roleList collects roles. add leaves out roles that no layer has.
type roleList []role

func (l *roleList) add(first, last int, name string, cols int) {
	if first < 0 || first < last {
		*l = append(*l, role{name: name, first: first, last: last, cols: cols})
	}
}

// keep restricts the roles from index i on to some layers, or removes them if there are no such layers.
func (l *roleList) keep(i int, layers []int) {
	if len(layers) == 0 {
		*l = (*l)[:i]
	}
	for ; i < len(*l); i++ {
		r := &(*l)[i]
		r.among, r.first, r.last = layers, layers[0], layers[len(layers)-1]+1
	}
}

// roles lists the weights of s that may be quantised. Old files have one
// kv_b_proj in place of k_b_proj and v_b_proj (legacy).
func roles(s *Spec, legacy bool) []role {
	m, n := &s.Model, s.Model.NumHiddenLayers
	dense := n
	if s.MoE != nil {
		dense = min(s.MoE.FirstKDenseReplace, n)
	}
	var l roleList
	if s.NextN > 0 {
		l.add(-1, 0, "eh_proj", 2*m.HiddenSize)
	} else {
		l.add(-1, 0, "embed_tokens", m.HiddenSize)
	}
	if s.Hybrid != nil {
		l.linear(s)
	}
	full := len(l)
	l.attention(m, legacy)
	if gguf.ArchitectureOf(s.Architecture).HeadGates {
		l.add(0, n, "self_attn.gate_proj", m.HiddenSize)
	}
	if s.Hybrid != nil {
		l.keep(full, s.Layers(false))
	}
	if !gguf.ArchitectureOf(s.Architecture).SquaredReLU {
		l.add(0, dense, "mlp.gate_proj", m.HiddenSize)
	}
	l.add(0, dense, "mlp.up_proj", m.HiddenSize)
	l.add(0, dense, "mlp.down_proj", m.IntermediateSize)
	if s.MoE != nil {
		l.experts(s, m.HiddenSize, dense, n)
	}
	switch {
	case s.NextN > 0:
		l.add(-1, 0, "shared_head.head", m.HiddenSize)
	case !m.TieWordEmbeddings:
		l.add(-1, 0, "lm_head", m.HiddenSize)
	}
	return l
}

func (l *roleList) attention(m *Model, legacy bool) {
	n := m.NumHiddenLayers
	if m.QLoraRank > 0 {
		l.add(0, n, "self_attn.q_a_proj", m.HiddenSize)
		l.add(0, n, "self_attn.q_b_proj", m.QLoraRank)
	} else {
		l.add(0, n, "self_attn.q_proj", m.HiddenSize)
	}
	l.add(0, n, "self_attn.kv_a_proj_with_mqa", m.HiddenSize)
	if legacy {
		l.add(0, n, "self_attn.kv_b_proj", m.KVLoraRank)
	} else {
		l.add(0, n, "self_attn.k_b_proj", m.QKNopeHeadDim)
		l.add(0, n, "self_attn.v_b_proj", m.KVLoraRank)
	}
	l.add(0, n, "self_attn.o_proj", m.NumAttentionHeads*m.VHeadDim)
}

// linear adds the roles of layers with linear attention.
func (l *roleList) linear(s *Spec) {
	first, n, hidden, inner := len(*l), s.Model.NumHiddenLayers, s.Model.HiddenSize, s.LinearWidth()
	low := gguf.ArchitectureOf(s.Architecture).LowRankGates
	for _, name := range []string{"q_proj", "k_proj", "v_proj", "f_a_proj", "b_proj", "g_a_proj"} {
		l.add(0, n, "linear_attn."+name, hidden)
	}
	if low {
		l.add(0, n, "linear_attn.f_b_proj", s.Hybrid.HeadDim)
		l.add(0, n, "linear_attn.g_b_proj", s.Hybrid.HeadDim)
	}
	l.add(0, n, "linear_attn.o_proj", inner)
	l.keep(first, s.Layers(true))
}

func (l *roleList) experts(s *Spec, hidden, first, last int) {
	e := s.MoE
	l.add(first, last, "mlp.experts.gate_proj", hidden)
	l.add(first, last, "mlp.experts.up_proj", hidden)
	l.add(first, last, "mlp.experts.down_proj", e.MoEIntermediateSize)
	if e.NSharedExperts > 0 {
		l.add(first, last, "mlp.shared_experts.gate_proj", hidden)
		l.add(first, last, "mlp.shared_experts.up_proj", hidden)
		l.add(first, last, "mlp.shared_experts.down_proj", s.SharedWidth())
	}
}

// typeNames lists the quant types by name.
func typeNames() []string {
	var list []string
	for _, f := range quant.Formats() {
		list = append(list, f.Name)
	}
	return list
}
