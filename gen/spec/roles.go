package spec

import (
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// role is a weight to which a quant profile gives types. Package weights has
// the full table; a test there and here keeps the two in step.
type role struct {
	name        string
	first, last int // layers [first, last); first is -1 outside the layers
	cols        int // elements of a row, a whole number of blocks
}

func (r *role) layers() int {
	if r.first < 0 {
		return 1
	}
	return r.last - r.first
}

// roleList collects roles that some layer has.
type roleList []role

func (l *roleList) add(first, last int, name string, cols int) {
	if first < 0 || first < last {
		*l = append(*l, role{name, first, last, cols})
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
	l.attention(m, legacy)
	if !gguf.ArchitectureOf(s.Architecture).SquaredReLU {
		l.add(0, dense, "mlp.gate_proj", m.HiddenSize)
	}
	l.add(0, dense, "mlp.up_proj", m.HiddenSize)
	l.add(0, dense, "mlp.down_proj", m.IntermediateSize)
	if s.MoE != nil {
		l.experts(s.MoE, m.HiddenSize, dense, n)
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

func (l *roleList) experts(e *MoE, hidden, first, last int) {
	l.add(first, last, "mlp.experts.gate_proj", hidden)
	l.add(first, last, "mlp.experts.up_proj", hidden)
	l.add(first, last, "mlp.experts.down_proj", e.MoEIntermediateSize)
	if e.NSharedExperts > 0 {
		l.add(first, last, "mlp.shared_experts.gate_proj", hidden)
		l.add(first, last, "mlp.shared_experts.up_proj", hidden)
		l.add(first, last, "mlp.shared_experts.down_proj", e.MoEIntermediateSize*e.NSharedExperts)
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
