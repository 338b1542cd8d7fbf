package tokenizer

import (
	"slices"
	"testing"
)

// TestFIM: the tokens of a middle are those of the file's keys, else those of known names,
// unless these are plain text.
func TestFIM(t *testing.T) {
	v := spmVocab()
	if tok := mustNew(t, v); tok.FIM() != noFIM || tok.FIM().Known() || tok.FIM().Ends(-1) {
		t.Errorf("a vocabulary without: %+v", tok.FIM())
	}
	first := int32(len(v.Tokens))
	for _, name := range []string{"<｜fim▁begin｜>", "<|fim_suffix|>", "<MID>", "<|file_sep|>", "other"} {
		v.Tokens, v.Types, v.Scores = append(v.Tokens, name), append(v.Types, TypeControl), append(v.Scores, 0)
	}
	f := mustNew(t, v).FIM()
	if f != (FIM{first, first + 1, first + 2, -1, first + 3, -1}) || !f.Known() || !f.Ends(first+3) || f.Ends(first+4) {
		t.Errorf("by names: %+v", f)
	}
	v.FIM.Prefix = first + 4
	if f := mustNew(t, v).FIM(); f.Prefix != first+4 || f.Suffix != first+1 {
		t.Errorf("by a key: %+v", f)
	}
	v.FIM.Prefix = -1
	v.Types = slices.Clone(v.Types)
	v.Types[first] = TypeNormal
	if f := mustNew(t, v).FIM(); f.Prefix != -1 || f.Known() {
		t.Errorf("plain text: %+v", f)
	}
	v.FIM.Repo = 1 << 20
	if _, err := New(v); err == nil {
		t.Error("a token outside the vocabulary is taken")
	}
}
