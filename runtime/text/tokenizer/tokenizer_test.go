package tokenizer

import (
	"math"
	"math/rand/v2"
	"mla/tools/tests/deep"
	"mla/tools/tests/processor"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// byteEntries is a vocabulary of the 256 bytes in the byte alphabet.
func byteEntries() []string {
	var chars [256]string
	for char, b := range byteOfChar {
		if b >= 0 {
			chars[b] = string(rune(char))
		}
	}
	return chars[:]
}

// testVocab is the 256 bytes, a few merged tokens and one token of each special
// type.
func testVocab() Vocab {
	v := NoTokens()
	v.Model, v.Pre = "gpt2", "glm4"
	v.Tokens = append(byteEntries(), "he", "ll", "hell", "hello", "Ġhello", "aa", "aaaa")
	v.Merges = []string{"h e", "l l", "he ll", "hell o", "Ġ hello", "a a", "aa aa"}
	v.Types = slices.Repeat([]int32{TypeNormal}, len(v.Tokens))
	for _, s := range []struct {
		token string
		kind  int32
	}{
		{"<s>", TypeControl}, {"<e>", TypeControl}, {"<unk>", TypeUnknown}, {"<think>", TypeUserDefined},
		{"<think>ing", TypeUserDefined}, {"[PAD]", TypeUnused}, {"<|user|>", TypeControl}, {"<|im_end|>", TypeControl},
	} {
		v.Tokens = append(v.Tokens, s.token)
		v.Types = append(v.Types, s.kind)
	}
	v.BOS, v.EOS, v.UNK = slices.Index(v.Tokens, "<s>"), slices.Index(v.Tokens, "<e>"), slices.Index(v.Tokens, "<unk>")
	v.AddBOS = true
	return v
}

func mustNew(t testing.TB, v Vocab) *Tokenizer {
	t.Helper()
	tok, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// spelled returns the vocabulary entries of ids.
func spelled(tok *Tokenizer, ids []int32) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, tok.TokenText(id))
	}
	return out
}

func TestEncode(t *testing.T) {
	v := testVocab()
	glm := mustNew(t, v)
	v.Pre = "youtu" // ignore_merges
	v.Merges = []string{"h e"}
	youtu := mustNew(t, v)
	for _, c := range []struct {
		name string
		tok  *Tokenizer
		text string
		opts EncodeOptions
		want string
	}{
		{"merges", glm, "hello hello", EncodeOptions{}, "hello Ġhello"},
		{"odd run", glm, "aaaaaaa", EncodeOptions{}, "aaaa aa a"},
		{"empty", glm, "", EncodeOptions{}, ""},
		{"empty with bos", glm, "", EncodeOptions{AddBOS: true}, "<s>"},
		{"bos", glm, "he", EncodeOptions{AddBOS: true}, "<s> he"},
		{"no second bos", glm, "<s>he", EncodeOptions{AddBOS: true, ParseSpecial: true}, "<s> he"},
		{"bos before its own spelling", glm, "<s>", EncodeOptions{AddBOS: true}, "<s> < s >"},
		{"control tokens parsed", glm, "he<e>he<unk>", EncodeOptions{ParseSpecial: true}, "he <e> he <unk>"},
		{"control tokens as text", glm, "he<e>", EncodeOptions{}, "he < e >"},
		{"user-defined always", glm, "a<think>a", EncodeOptions{}, "a <think> a"},
		{"longest special", glm, "<think>ing<think>in<thin", EncodeOptions{}, "<think>ing <think> i n < t h i n"},
		{"unused is not special", glm, "[PAD]", EncodeOptions{ParseSpecial: true}, "[ P A D ]"},
		{"ignore_merges takes whole pieces", youtu, "hello hell hellohe", EncodeOptions{}, "hello Ġ he l l Ġ he l l o he"},
		{"invalid bytes", glm, "a\xffb", EncodeOptions{}, "a ÿ b"},
	} {
		got := strings.Join(spelled(c.tok, c.tok.Encode(c.text, c.opts)), " ")
		if got != c.want {
			t.Errorf("%s: %q -> %q, expected %q", c.name, c.text, got, c.want)
		}
	}
}

// TestEmptyTokens: no text is spelled with them, and they print nothing.
func TestEmptyTokens(t *testing.T) {
	bpe, spm := testVocab(), spmVocab()
	for _, v := range []*Vocab{&bpe, &spm} {
		n := len(v.Tokens)
		v.Tokens, v.Types, v.Scores = append(v.Tokens, "", "", ""), append(v.Types, TypeNormal, TypeNormal, TypeControl), append(v.Scores, 9, 9, 9)
		tok := mustNew(t, *v)
		ids := tok.Encode("abc\x00", EncodeOptions{ParseSpecial: true})
		if slices.ContainsFunc(ids, func(id int32) bool { return int(id) >= n }) || tok.Decode(append(ids, int32(n), int32(n+2))) != "abc\x00" {
			t.Errorf("%s: %d, %q", v.Model, ids, tok.Decode(ids))
		}
		if _, ok := tok.TokenID(""); ok {
			t.Errorf("%s: there is a token of no text", v.Model)
		}
	}
}

func TestByteFallback(t *testing.T) {
	v := NoTokens()
	v.Model, v.Pre = "gpt2", "glm4"
	v.Tokens = []string{"a", "<0x62>", "<unk>", "<0xC3>", "d", "ddd"}
	v.Types = []int32{TypeNormal, TypeByte, TypeUnknown, TypeByte, TypeNormal, TypeNormal}
	v.Merges = []string{"d d", "a b", "d dd"} // dd and ab are no tokens
	v.UNK = 2
	tok := mustNew(t, v)
	for text, want := range map[string][]int32{
		"ab":  {0, 1},    // merged, but split again into the byte tokens
		"dd":  {4, 4},    // the same
		"ddd": {4, 4, 4}, // d d merges first and leaves dd + d without a merge
		"aé":  {0, 3, 2}, // 0xC3 has a byte token, 0xA9 none
	} {
		if got := tok.Encode(text, EncodeOptions{}); !slices.Equal(got, want) {
			t.Errorf("Encode(%q) = %v, expected %v", text, got, want)
		}
	}
	if got := tok.Decode([]int32{0, 1, 2, 3}); got != "ab\uFFFD" {
		t.Errorf("Decode = %q", got)
	}
	v.UNK = -1
	if got := mustNew(t, v).Encode("zaz", EncodeOptions{}); !slices.Equal(got, []int32{0}) {
		t.Errorf("bytes without any token: %v, expected [0]", got)
	}
}

func TestDecodePrintsNoControlTokens(t *testing.T) {
	tok := mustNew(t, testVocab())
	ids := tok.Encode("<s>hello<think> hello<e><|user|>", EncodeOptions{ParseSpecial: true})
	pad, _ := tok.TokenID("[PAD]")
	ids = append(ids, pad, -1, int32(tok.VocabSize()))
	if got, want := tok.Decode(ids), "hello<think> hello"; got != want {
		t.Errorf("Decode = %q, expected %q", got, want)
	}
}

func TestStreamHoldsBackIncompleteCharacters(t *testing.T) {
	tok := mustNew(t, testVocab())
	s := tok.NewStream()
	for _, step := range []struct {
		b    byte
		want string
	}{
		{'a', "a"}, {0xF0, ""}, {0x9F, ""}, {0xA6, ""}, {0x99, "🦙"}, // complete
		{0xE4, ""}, {0xB8, ""}, {'x', "\uFFFD\uFFFDx"}, // broken off: one mark per byte
		{0x80, "\uFFFD"}, {0xC3, ""},
	} {
		if got := s.Push(int32(step.b)); got != step.want {
			t.Errorf("Push(0x%02x) = %q, expected %q", step.b, got, step.want)
		}
	}
	if got := s.Flush(); got != "\uFFFD" {
		t.Errorf("Flush = %q", got)
	}
	if got := s.Flush(); got != "" {
		t.Errorf("second Flush = %q", got)
	}
}

// TestStreamEqualsDecode pushes random bytes, most of them invalid.
func TestStreamEqualsDecode(t *testing.T) {
	tok := mustNew(t, testVocab())
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var ids []int32
		for range r.IntN(12) {
			ids = append(ids, int32([]byte("az\xc3\xa9\xe4\xb8\xad\xf0\x9f\xa6\x99\xff")[r.IntN(12)]))
		}
		s, text := tok.NewStream(), ""
		for _, id := range ids {
			part := s.Push(id)
			if !utf8.ValidString(part) {
				t.Fatalf("%v: Push returned %q", ids, part)
			}
			text += part
		}
		if text += s.Flush(); text != tok.Decode(ids) {
			t.Fatalf("%v: stream %q, Decode %q", ids, text, tok.Decode(ids))
		}
	}
}

func TestEOG(t *testing.T) {
	v := testVocab()
	v.Tokens = append(v.Tokens, "</s>")
	v.Types = append(v.Types, TypeNormal)
	v.Ends = []int32{4}
	for pre, want := range map[string]string{
		"glm4":         v.Tokens[4] + " <e> <|user|> <|im_end|>", // <|user|> by name, as files list only one token
		"deepseek-llm": v.Tokens[4] + " <e> <|im_end|>",
	} {
		v.Pre = pre
		tok := mustNew(t, v)
		if got := strings.Join(spelled(tok, tok.EOG()), " "); got != want {
			t.Errorf("%s: %q, expected %q", pre, got, want)
		}
		for id := range int32(tok.VocabSize()) {
			if tok.IsEOG(id) != slices.Contains(tok.EOG(), id) {
				t.Errorf("IsEOG(%d) = %v", id, tok.IsEOG(id))
			}
		}
	}
}

func TestNewRejects(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Vocab)
		want  string
	}{
		{"ends", func(v *Vocab) { v.Ends = []int32{1, 1 << 20} }, "tokenizer.ggml.eos_token_ids has 1048576"},
		{"add_eos", func(v *Vocab) { v.AddEOS, v.EOS = true, -1 }, "tokenizer.ggml.add_eos_token is true"},
		{"model", func(v *Vocab) { v.Model = "bert" }, `tokenizer.ggml.model is "bert"`},
		{"scores", func(v *Vocab) { v.Model = "llama" }, "tokenizer.ggml.scores has 0 entries, tokenizer.ggml.tokens"},
		{"score", func(v *Vocab) {
			v.Model, v.Scores = "llama", slices.Repeat([]float32{float32(math.NaN())}, len(v.Tokens))
		}, "tokenizer.ggml.scores[0] is not"},
		{"long token", func(v *Vocab) {
			v.Model, v.Scores, v.Tokens[5] = "llama", make([]float32, len(v.Tokens)), strings.Repeat("x", 2000)
		}, "tokenizer.ggml.tokens[5] has 2000 bytes"},
		{"pre", func(v *Vocab) { v.Pre = "qwen9" }, `key "tokenizer.ggml.pre" is "qwen9", which is no pre-tokeniser that this program knows; -pre NAME`},
		{"no tokens", func(v *Vocab) { v.Tokens, v.Types = nil, nil }, "tokenizer.ggml.tokens is missing or empty"},
		{"duplicate", func(v *Vocab) { v.Tokens[9] = v.Tokens[3] }, "tokenizer.ggml.tokens[3] and [9] are both"},
		{"types too short", func(v *Vocab) { v.Types = v.Types[1:] }, "tokenizer.ggml.token_type has"},
		{"type out of range", func(v *Vocab) { v.Types[5] = 77 }, "tokenizer.ggml.token_type[5] is 77"},
		{"byte token", func(v *Vocab) { v.Types[5] = TypeByte }, "with type byte"},
		{"long special", func(v *Vocab) { v.Tokens[5], v.Types[5] = strings.Repeat("x", 2000), TypeControl }, "special token of 2000 bytes"},
		{"merge without space", func(v *Vocab) { v.Merges[1] = "ll" }, `tokenizer.ggml.merges[1] is "ll"`},
		{"merge with two spaces", func(v *Vocab) { v.Merges[1] = "l l l" }, "tokenizer.ggml.merges[1]"},
		{"merge with an empty part", func(v *Vocab) { v.Merges[1] = " l" }, "tokenizer.ggml.merges[1]"},
		{"merge outside the alphabet", func(v *Vocab) { v.Merges[1] = "中 l" }, "tokenizer.ggml.merges[1]"},
		{"bos", func(v *Vocab) { v.BOS = len(v.Tokens) }, "tokenizer.ggml.bos_token_id is"},
		{"eos", func(v *Vocab) { v.EOS = -2 }, "tokenizer.ggml.eos_token_id is -2"},
		{"eot", func(v *Vocab) { v.EOT = 1 << 40 }, "tokenizer.ggml.eot_token_id is"},
		{"eom", func(v *Vocab) { v.EOM = 1 << 40 }, "tokenizer.ggml.eom_token_id is"},
		{"unk", func(v *Vocab) { v.UNK = 1 << 40 }, "tokenizer.ggml.unknown_token_id is"},
		{"bos missing", func(v *Vocab) { v.BOS = -1 }, "add_bos_token is true"},
	} {
		v := testVocab()
		c.spoil(&v)
		if _, err := New(v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected to contain %q", c.name, err, c.want)
		}
	}
}

// TestLongPiecesAreNotQuadratic checks the processor time to encode long lines: lines of one or a few pieces, and
// lines with many failed attempts. A line takes a few hundredths of a second, or a few tenths under the race
// detector. Quadratic time would be minutes.
func TestLongPiecesAreNotQuadratic(t *testing.T) {
	const size, limit = 1 << 18, time.Minute
	list := []string{"glm4", "spm", "deepseek-llm", "deepseek-v3", "gigachat", "kimi-k2", "tekken", "youtu"}
	if !deep.On {
		list = list[:2]
	}
	for _, pre := range list {
		v := testVocab()
		if v.Pre = pre; pre == "spm" {
			v = spmVocab()
		}
		tok := mustNew(t, v)
		for _, unit := range []string{
			"a", "A", "Aʰ", "ʰAAAAAAAA", "中", "!", " ", "\n", "1", " x  ", "   1", "'", "'s", "\u0301", "\u0301A",
			"<", "<think", "hello", " \u3000",
		} {
			line := strings.Repeat(unit, size/len(unit))
			for _, s := range []string{line, " ʰ" + line + "x "} {
				start := processor.Time(t)
				ids := tok.Encode(s, EncodeOptions{ParseSpecial: true})
				if spent := processor.Time(t) - start; spent > limit {
					t.Errorf("%s: %d bytes of %q took %v", pre, len(s), unit, spent)
				}
				if tok.Decode(ids) != s {
					t.Errorf("%s: %d bytes of %q do not survive decoding", pre, len(s), unit)
				}
			}
		}
	}
}

// FuzzVocab builds tokenisers from arbitrary vocabularies and uses those that
// New accepts.
func FuzzVocab(f *testing.F) {
	f.Add("a b ab <s> <0x41>", "\x01\x01\x01\x03\x06", "a b", 3, 1, "ab<s>A")
	f.Add("é ÿ Ġ", "", "Ġ ÿ|ÿ Ġ", -1, -1, "\xff \xff")
	f.Fuzz(func(t *testing.T, tokens, types, merges string, bos, eos int, text string) {
		v := NoTokens()
		v.Model, v.Pre, v.BOS, v.EOS = "gpt2", "youtu", bos, eos
		v.Tokens = strings.Split(tokens, " ")
		for _, c := range []byte(types) {
			v.Types = append(v.Types, int32(int8(c)))
		}
		if merges != "" {
			v.Merges = strings.Split(merges, "|")
		}
		tok, err := New(v)
		if err != nil {
			return
		}
		ids := tok.Encode(text, EncodeOptions{AddBOS: true, ParseSpecial: true})
		for _, id := range ids {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("Encode gave %d with a vocabulary of %d", id, tok.VocabSize())
			}
		}
		tok.Decode(ids)
	})
}

func BenchmarkEncode(b *testing.B) {
	tok := loadDeepSeek(b)
	var text strings.Builder
	for _, c := range deepSeekCases(b) {
		text.WriteString(c.Text)
	}
	s := strings.Repeat(text.String(), 100)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		tok.Encode(s, EncodeOptions{})
	}
}
