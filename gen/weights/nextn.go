package weights

import (
	"strconv"
	"strings"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// The roles of the multi-token-prediction layer (spec.Spec.NextNLayer). Its input is eh_proj [enorm(embedding
// of the next token); hnorm(hidden state)].
const (
	EHProj         = "eh_proj"
	ENorm          = "enorm"
	HNorm          = "hnorm"
	SharedHeadNorm = "shared_head.norm"
	SharedHead     = "shared_head.head"
)

// nextN returns the weight table of a multi-token-prediction layer, made of the table of a model of one
// layer.
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

// Joined lists the tensors that the host needs to make the input of a multi-token-prediction layer, in this
// order: the embedding, the norms of both halves, the final norm of the model, and the layer's own final
// norm. Hidden states are taken after one of the last two.
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

// headNorm adds the norm before the head of a multi-token-prediction layer.
func (t *table) headNorm(s *spec.Spec) {
	if gguf.ArchitectureOf(s.Architecture).SharedHead {
		t.vector(-1, 0, SharedHeadNorm, "blk.%d.layer_output_norm.weight", s.Model.HiddenSize)
		return
	}
	t.vector(-1, 0, SharedHeadNorm, "blk.%d.nextn.shared_head_norm.weight", s.Model.HiddenSize)
	t.last().Alt = finalGGUF
}

// orShared sets where the last row comes from if the layer has no tensor of its own: from the model's tensor
// of that name. In some architectures that is so in all files.
func (t *table) orShared(s *spec.Spec, name string) {
	if gguf.ArchitectureOf(s.Architecture).SharedHead {
		t.last().GGUF = name
		return
	}
	t.last().Alt = name
}

// numbered puts the number of the multi-token-prediction layer into the tensor names of a row.
func numbered(s *spec.Spec, r Row) Row {
	if s.NextN > 0 {
		r.GGUF = strings.Replace(r.GGUF, "%d", strconv.Itoa(s.NextN), 1)
		r.Alt = strings.Replace(r.Alt, "%d", strconv.Itoa(s.NextN), 1)
	}
	return r
}

func (t *table) last() *Row { return &t.rows[len(t.rows)-1] }
