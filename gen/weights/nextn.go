package weights

import (
	"strconv"
	"strings"

	"mla/gen/spec"
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
	t.vector(-1, 0, SharedHeadNorm, "blk.%d.nextn.shared_head_norm.weight", d)
	t.last().Alt = finalGGUF
	t.add(-1, 0, SharedHead, "blk.%d.nextn.shared_head_head.weight", d, s.Model.VocabSize, 1)
	t.last().Alt = headGGUF
	if s.Model.TieWordEmbeddings {
		t.last().Alt = embedGGUF
	}
	for i := range t.rows {
		t.rows[i] = numbered(s, t.rows[i])
	}
	return t.rows
}

// Joined lists what the host makes the inputs of the layer that predicts of, in this
// order: the embedding, the norms of both halves, and the norms behind which hidden
// states are taken, the model's and its own.
func Joined(s *spec.Spec) []Row {
	d := s.Model.HiddenSize
	var t table
	t.add(-1, 0, EmbedTokens, "blk.%d.nextn.embed_tokens.weight", d, s.Model.VocabSize, 1)
	t.last().Alt = embedGGUF
	t.vector(-1, 0, ENorm, "blk.%d.nextn.enorm.weight", d)
	t.vector(-1, 0, HNorm, "blk.%d.nextn.hnorm.weight", d)
	t.vector(-1, 0, FinalNorm, finalGGUF, d)
	t.vector(-1, 0, SharedHeadNorm, "blk.%d.nextn.shared_head_norm.weight", d)
	t.last().Alt = finalGGUF
	for i := range t.rows {
		t.rows[i] = numbered(s, t.rows[i])
	}
	return t.rows
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
