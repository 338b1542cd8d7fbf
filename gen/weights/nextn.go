package weights

import (
	"strconv"
	"strings"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// The roles of the layer that predicts the token after next (spec.Spec.NextNLayer): its
// input is eh_proj [enorm(embedding of the next token); hnorm(hidden state)].
const (
	EHProj         = "eh_proj"
	ENorm          = "enorm"
	HNorm          = "hnorm"
	SharedHeadNorm = "shared_head.norm"
	SharedHead     = "shared_head.head"
)

// nextN makes the table of a model of one layer that of the layer which predicts.
func nextN(s *spec.Spec, model []Row) []Row {
	d := s.Model.HiddenSize
	var t table
	t.add(-1, 0, EHProj, "blk.%d.nextn.eh_proj.weight", 2*d, d, 1)
	for _, r := range model {
		if r.First >= 0 {
			t.put(r)
		}
	}
	t.headNorm(s)
	head := headGGUF
	if s.Model.TieWordEmbeddings {
		head = embedGGUF
	}
	t.add(-1, 0, SharedHead, "blk.%d.nextn.shared_head_head.weight", d, s.Model.VocabSize, 1)
	t.orShared(s, head)
	for i := range t.rows {
		t.rows[i] = numbered(s, t.rows[i])
	}
	return t.rows
}

// Joined lists what the host makes the inputs of the layer that predicts of, in this
// order: the embedding, the norms of both halves, and the norms after which hidden
// states are taken, the model's and its own.
func Joined(s *spec.Spec) []Row {
	d := s.Model.HiddenSize
	var t table
	t.add(-1, 0, EmbedTokens, "blk.%d.nextn.embed_tokens.weight", d, s.Model.VocabSize, 1)
	t.orShared(s, embedGGUF)
	t.vector(-1, 0, ENorm, "blk.%d.nextn.enorm.weight", d)
	t.vector(-1, 0, HNorm, "blk.%d.nextn.hnorm.weight", d)
	t.vector(-1, 0, FinalNorm, finalGGUF, d)
	t.headNorm(s)
	for i := range t.rows {
		t.rows[i] = numbered(s, t.rows[i])
	}
	return t.rows
}

// headNorm adds the norm in front of the head of a layer that predicts.
func (t *table) headNorm(s *spec.Spec) {
	if gguf.ArchitectureOf(s.Architecture).SharedHead {
		t.vector(-1, 0, SharedHeadNorm, "blk.%d.layer_output_norm.weight", s.Model.HiddenSize)
		return
	}
	t.vector(-1, 0, SharedHeadNorm, "blk.%d.nextn.shared_head_norm.weight", s.Model.HiddenSize)
	t.last().Alt = finalGGUF
}

// orShared says that the last row is a tensor of the model where the layer has none of its own, or in all files.
func (t *table) orShared(s *spec.Spec, name string) {
	if gguf.ArchitectureOf(s.Architecture).SharedHead {
		t.last().GGUF = name
		return
	}
	t.last().Alt = name
}

// numbered gives a row of a layer that predicts the number that files have for it.
func numbered(s *spec.Spec, r Row) Row {
	if s.NextN > 0 {
		r.GGUF = strings.Replace(r.GGUF, "%d", strconv.Itoa(s.NextN), 1)
		r.Alt = strings.Replace(r.Alt, "%d", strconv.Itoa(s.NextN), 1)
	}
	return r
}

func (t *table) last() *Row { return &t.rows[len(t.rows)-1] }
