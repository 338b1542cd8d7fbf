package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"mla/runtime/gguf"
)

// spmVocab is the 256 byte tokens, some of text and one of each special type.
func spmVocab() Vocab {
	v := NoTokens()
	v.Model, v.AddSpacePrefix = "llama", true
	add := func(token string, kind int32, score float32) {
		v.Tokens, v.Types, v.Scores = append(v.Tokens, token), append(v.Types, kind), append(v.Scores, score)
	}
	add("<unk>", TypeUnknown, 0)
	add("<s>", TypeControl, 0)
	add("</s>", TypeControl, 0)
	const hex = "0123456789ABCDEF"
	for b := range 256 {
		add("<0x"+string(hex[b>>4])+string(hex[b&15])+">", TypeByte, 0)
	}
	for i, token := range []string{"ab", "bc", "abc", "▁a", "▁abc", "a", "b", "c", "▁", "aa", "é", "cé"} {
		add(token, TypeNormal, float32(-i/2)) // neighbours have equal scores
	}
	add("<t>", TypeUserDefined, 0)
	v.BOS, v.EOS, v.UNK = 1, 2, 0
	return v
}

// TestSPM: the best score merges first, the leftmost among equals; what merges to no
// token stays apart.
func TestSPM(t *testing.T) {
	v := spmVocab()
	tok := mustNew(t, v)
	v.AddSpacePrefix = false
	bare := mustNew(t, v)
	for _, c := range []struct {
		tok  *Tokenizer
		text string
		opts EncodeOptions
		want string
	}{
		{tok, "abc", EncodeOptions{}, "▁abc"}, // ab, abc, then with the space
		{bare, "abc", EncodeOptions{}, "abc"},
		{bare, "bcab", EncodeOptions{}, "bc ab"},
		{bare, "ababc", EncodeOptions{}, "ab abc"},
		{bare, "aaa", EncodeOptions{}, "aa a"},
		{bare, "bcé", EncodeOptions{}, "bc é"}, // bc before cé
		{bare, "acé", EncodeOptions{}, "a cé"},
		{bare, "ñ", EncodeOptions{}, "<0xC3> <0xB1>"},
		{bare, "a\xc3b", EncodeOptions{}, "a <0xC3> b"},
		{bare, "\ufffd", EncodeOptions{}, "<0xEF> <0xBF> <0xBD>"},
		{tok, "", EncodeOptions{}, ""},
		{tok, " a", EncodeOptions{}, "▁ ▁a"},
		{tok, "a<t>a", EncodeOptions{}, "▁a <t> ▁a"},
		{tok, "<s>", EncodeOptions{}, "▁ <0x3C> <0x73> <0x3E>"}, // text cannot spell it
		{tok, "<s>a</s>", EncodeOptions{ParseSpecial: true}, "<s> ▁a </s>"},
	} {
		if got := strings.Join(spelled(c.tok, c.tok.Encode(c.text, c.opts)), " "); got != c.want {
			t.Errorf("%q -> %q, expected %q", c.text, got, c.want)
		}
	}
	ids := tok.Encode(" ab ñ", EncodeOptions{})
	if got := tok.Decode(ids); got != " ab ñ" {
		t.Errorf("Decode = %q", got)
	}
	stream, text := tok.NewStream(), ""
	for _, id := range ids {
		text += stream.Push(id)
	}
	if text += stream.Flush(); text != "  ab ñ" {
		t.Errorf("Stream = %q", text)
	}
}

// TestSPMFile: a file of SentencePiece needs no pre-tokeniser and no merges, and has
// defaults of its own.
func TestSPMFile(t *testing.T) {
	v := spmVocab()
	meta := []gguf.KV{
		{Key: "tokenizer.ggml.model", Value: gguf.String("llama")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Strings(v.Tokens)},
		{Key: "tokenizer.ggml.token_type", Value: gguf.Int32s(v.Types)},
		{Key: "tokenizer.ggml.scores", Value: gguf.Float32s(v.Scores)},
	}
	tok, err := FromGGUF(writeVocab(t, meta))
	if err != nil {
		t.Fatal(err)
	}
	if tok.BOS() != 1 || tok.EOS() != 2 || !tok.AddsBOS() || !slices.Equal(tok.EOG(), []int32{2}) {
		t.Errorf("bos %d, eos %d, %v, ends %v", tok.BOS(), tok.EOS(), tok.AddsBOS(), tok.EOG())
	}
	if got := tok.Encode("abc", EncodeOptions{AddBOS: true}); !slices.Equal(spelled(tok, got), []string{"<s>", "▁abc"}) {
		t.Errorf("%q", spelled(tok, got))
	}
	meta = append(meta, gguf.KV{Key: "tokenizer.ggml.add_space_prefix", Value: gguf.Bool(false)}, gguf.KV{Key: "tokenizer.ggml.add_bos_token", Value: gguf.Bool(false)})
	if tok, err = FromGGUF(writeVocab(t, meta)); err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("abc", EncodeOptions{AddBOS: true}); !slices.Equal(spelled(tok, got), []string{"abc"}) {
		t.Errorf("%q", spelled(tok, got))
	}
	if _, err := FromGGUF(writeVocab(t, meta[:3])); err == nil || !strings.Contains(err.Error(), "tokenizer.ggml.scores is missing") {
		t.Errorf("without scores: %v", err)
	}
}

// FuzzSPM builds tokenisers from arbitrary vocabularies and uses those that New accepts.
func FuzzSPM(f *testing.F) {
	f.Add("a b ab ▁a <0x41>", "\x01\x01\x01\x01\x06", "\x00\x01\x02\x03\x04", "ab a")
	f.Fuzz(func(t *testing.T, tokens, types, scores, text string) {
		v := NoTokens()
		v.Model, v.AddSpacePrefix = "llama", true
		v.Tokens = strings.Split(tokens, " ")
		for _, c := range []byte(types) {
			v.Types = append(v.Types, int32(int8(c)))
		}
		for _, c := range []byte(scores) {
			v.Scores = append(v.Scores, float32(c))
		}
		tok, err := New(v)
		if err != nil {
			return
		}
		for _, id := range tok.Encode(text, EncodeOptions{ParseSpecial: true}) {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("Encode gave %d with a vocabulary of %d", id, tok.VocabSize())
			}
		}
	})
}
