package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// TestNoTypes: SentencePiece's bytes are found by their names, and so are tokens that end a
// generation, where a file has no types or calls all tokens normal.
func TestNoTypes(t *testing.T) {
	for _, types := range []func(n int) []int32{
		func(int) []int32 { return nil },
		func(n int) []int32 { return slices.Repeat([]int32{TypeNormal}, n) },
		func(n int) []int32 { return make([]int32, n) },
	} {
		v := spmVocab()
		v.Tokens, v.Scores = append(v.Tokens, "<|endoftext|>", "<0xzz>", "<0x0a>"), append(v.Scores, 0, 0, 0)
		v.Types = types(len(v.Tokens))
		tok := mustNew(t, v)
		if got, want := strings.Join(spelled(tok, tok.Encode("a\n你", EncodeOptions{})), " "), "▁a <0x0A> <0xE4> <0xBD> <0xA0>"; got != want {
			t.Errorf("%q; want %q", got, want)
		}
		ids := tok.Encode("<|endoftext|>", EncodeOptions{ParseSpecial: true})
		if got := spelled(tok, ids); !slices.Equal(got, []string{"<|endoftext|>"}) || !tok.IsEOG(ids[0]) {
			t.Errorf("%q", got)
		}
		if got := tok.Decode(tok.Encode("a\n你", EncodeOptions{})); got != "a\n你" {
			t.Errorf("%q", got)
		}
		if id, _ := tok.TokenID("</s>"); tok.vocab.Types[id] == TypeControl != (v.Types == nil) {
			t.Errorf("</s> has type %d", tok.vocab.Types[id])
		}
	}
}

// TestRetyped: a token of another type keeps it, and only SentencePiece has byte tokens.
func TestRetyped(t *testing.T) {
	for _, c := range []struct {
		model, token string
		from, to     int32
	}{
		{modelSPM, "<0x41>", TypeNormal, TypeByte},
		{modelSPM, "<0x41>", TypeUserDefined, TypeUserDefined},
		{modelSPM, "<0x4a>", TypeNormal, TypeNormal},
		{modelSPM, "<0x41>", TypeUnused, TypeUnused},
		{modelBPE, "<0x41>", TypeNormal, TypeNormal},
		{modelBPE, "<|im_end|>", TypeNormal, TypeControl},
		{modelBPE, "<|im_end|>", TypeUnused, TypeControl},
		{modelBPE, "<|im_end|>", TypeUserDefined, TypeUserDefined},
		{modelBPE, "<|observation|>", TypeNormal, TypeControl},
		{modelBPE, "</s>", TypeNormal, TypeNormal},
		{modelBPE, "<|im_end", TypeUndefined, TypeNormal},
	} {
		v := Vocab{Model: c.model, Tokens: []string{c.token}, Types: []int32{c.from}}
		got := retyped(v, append(slices.Clone(eogNames), preTokenizers["glm4"].eog...))
		if got.Types[0] != c.to || v.Types[0] != c.from {
			t.Errorf("%+v: %d", c, got.Types[0])
		}
	}
}

// TestAddEOS: EOS is put last where the file and the caller want it, once.
func TestAddEOS(t *testing.T) {
	v := testVocab()
	v.AddEOS = true
	tok := mustNew(t, v)
	for _, c := range []struct {
		text string
		opts EncodeOptions
		want string
	}{
		{"he", EncodeOptions{AddEOS: true}, "he <e>"},
		{"he", EncodeOptions{AddBOS: true, AddEOS: true}, "<s> he <e>"},
		{"he<e>", EncodeOptions{AddEOS: true, ParseSpecial: true}, "he <e>"},
		{"", EncodeOptions{AddEOS: true}, "<e>"},
		{"he", EncodeOptions{AddBOS: true}, "<s> he"},
	} {
		if got := strings.Join(spelled(tok, tok.Encode(c.text, c.opts)), " "); got != c.want {
			t.Errorf("%q, %+v: %q; want %q", c.text, c.opts, got, c.want)
		}
	}
	v.AddEOS = false
	if got := spelled(mustNew(t, v), mustNew(t, v).Encode("he", EncodeOptions{AddEOS: true})); !slices.Equal(got, []string{"he"}) {
		t.Errorf("a file that does not ask for it: %q", got)
	}
}
