package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAtLeast: the number is never more than there are tokens, and for texts that repeat one
// character not far from it.
func TestAtLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "b", " ", "  ", "\n", "é", "日", "\xff", "<think>", "<|user|>", "the ", "ing", "0", "▁", escapeBreak, escapeItself}
	for name, tok := range leastTokenizers(t) {
		for _, opts := range []EncodeOptions{{}, {ParseSpecial: true}, {AddBOS: true, ParseSpecial: true, Escaped: true}} {
			for range 2000 {
				var text strings.Builder
				for range rng.IntN(40) {
					text.WriteString(strings.Repeat(alphabet[rng.IntN(len(alphabet))], 1+rng.IntN(20)))
				}
				got, real := tok.AtLeast(text.String(), opts, 1<<30), len(tok.Encode(text.String(), opts))
				if got > real {
					t.Fatalf("%s: %q has %d tokens; AtLeast says %d", name, text.String(), real, got)
				}
				if enough := tok.AtLeast(text.String(), opts, got/2); enough > got || got > 0 && enough < got/2 {
					t.Fatalf("%s: %d where %d are enough, of %d", name, enough, got/2, got)
				}
			}
		}
		for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat(" ", 1<<20), strings.Repeat("the cat ", 1<<17)} {
			if got, real := tok.AtLeast(text, EncodeOptions{}, 1<<30), len(tok.Encode(text, EncodeOptions{})); got > real || got < real/8 {
				t.Errorf("%s: %.8q…: %d tokens; AtLeast says %d", name, text, real, got)
			}
		}
	}
}

// leastTokenizers are vocabularies of both kinds.
func leastTokenizers(t *testing.T) map[string]*Tokenizer {
	t.Helper()
	spm, err := New(spmVocab())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Tokenizer{"deepseek": loadDeepSeek(t), "tinychat": load(t, "../../../testdata/tinychat.gguf"), "sentencepiece": spm}
}
