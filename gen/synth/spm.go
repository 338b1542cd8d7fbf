package synth

import (
	"fmt"
	"strings"

	"mla/runtime/gguf"
)

// ends are the last control tokens of the vocabulary, as in MiniCPM3.
var ends = []string{"<|im_start|>", "<|im_end|>"}

// sentencePiece adds a vocabulary of n tokens: special tokens, all bytes, printable characters, and words of
// made-up syllables. Later tokens have lower scores.
func (l *metaList) sentencePiece(n int) error {
	v := &vocabulary{}
	v.add("<unk>", tokenUnknown)
	v.add("<s>", tokenControl)
	v.add("</s>", tokenControl)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), tokenByte)
	}
	for c := '!'; c <= '~'; c++ {
		v.add(string(c), tokenNormal)
	}
	v.add("\u2581", tokenNormal)
	words := n - len(v.tokens) - len(ends)
	if words < 0 {
		return fmt.Errorf("vocab_size is %d; a vocabulary needs %d bytes, characters and control tokens", n, n-words)
	}
	for _, w := range newVocabulary(256 + words).tokens[256:] {
		v.add(strings.ReplaceAll(w, space, "\u2581"), tokenNormal)
	}
	for _, e := range ends {
		v.add(e, tokenControl)
	}
	scores := make([]float32, len(v.tokens))
	for i := range scores {
		scores[i] = -float32(i)
	}
	l.add("tokenizer.ggml.model", gguf.String("llama"))
	l.add("tokenizer.ggml.pre", gguf.String("default"))
	l.add("tokenizer.ggml.tokens", gguf.Strings(v.tokens))
	l.add("tokenizer.ggml.scores", gguf.Float32s(scores))
	l.add("tokenizer.ggml.token_type", gguf.Int32s(v.types))
	l.add("tokenizer.ggml.bos_token_id", gguf.Uint32(1))
	l.add("tokenizer.ggml.eos_token_id", gguf.Uint32(2))
	l.add("tokenizer.ggml.unknown_token_id", gguf.Uint32(0))
	l.add("tokenizer.ggml.add_bos_token", gguf.Bool(true))
	return nil
}
