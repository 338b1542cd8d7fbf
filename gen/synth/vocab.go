package synth

import (
	"fmt"

	"mla/gen/spec"
	"mla/runtime/gguf"
)

// Values of tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUnused  = 5
	tokenByte    = 6
)

// special has the control tokens of a tokenizer. They have consecutive ids, from first on.
type special struct {
	vocab, first int // vocab is the size of the real vocabulary. In vocabularies of other sizes, and if first is 0, the tokens are at the end.
	tokens       []string
	keys         []tokenKey
}

// tokenKey is a metadata key whose value is the id of a token.
type tokenKey struct{ key, token string }

var specials = map[string]special{
	"deepseek-llm": {102400, 100000,
		[]string{"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"},
		[]tokenKey{{"bos_token_id", "<｜begin▁of▁sentence｜>"}, {"eos_token_id", "<｜end▁of▁sentence｜>"}}},
	"glm4": {154880, 154820,
		[]string{"<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
			"<|observation|>", "<think>", "</think>"},
		[]tokenKey{{"bos_token_id", "[gMASK]"}, {"eos_token_id", "<|endoftext|>"}, {"eot_token_id", "<|user|>"}, {"eom_token_id", "<|observation|>"}}},
	"youtu": {128256, 128000,
		[]string{"<|begin_of_text|>", "<|end_of_text|>", "<think>", "</think>"},
		[]tokenKey{{"bos_token_id", "<|begin_of_text|>"}, {"eos_token_id", "<|end_of_text|>"}}},
	"deepseek-v3": {129280, 0, // its control tokens are at both ends; here they are at the end
		[]string{"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>"},
		[]tokenKey{{"bos_token_id", "<｜begin▁of▁sentence｜>"}, {"eos_token_id", "<｜end▁of▁sentence｜>"}}},
	"kimi-k2": {163840, 163584,
		[]string{"[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>"},
		[]tokenKey{{"bos_token_id", "[BOS]"}, {"eos_token_id", "[EOS]"}, {"eot_token_id", "<|im_end|>"}}},
	"gigachat": {128256, 0, []string{"<s>", "</s>", "<|message_sep|>", "<|role_sep|>"},
		[]tokenKey{{"bos_token_id", "<s>"}, {"eos_token_id", "</s>"}}},
	"kanana2": {128256, 0, []string{"<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"},
		[]tokenKey{{"bos_token_id", "<|begin_of_text|>"}, {"eos_token_id", "<|im_end|>"}}},
	"tekken": {131072, 0, []string{"<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
		[]tokenKey{{"bos_token_id", "<s>"}, {"eos_token_id", "</s>"}}},
	"bailingmoe2": {157184, 156891,
		[]string{"<|startoftext|>", "<|endoftext|>", "[CLS]", "[gMASK]", "<|role_end|>"},
		[]tokenKey{{"bos_token_id", "<|startoftext|>"}, {"eos_token_id", "<|role_end|>"}}},
	"qwen2": {151936, 151643, []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"},
		[]tokenKey{{"bos_token_id", "<|endoftext|>"}, {"eos_token_id", "<|im_end|>"}}},
}

// addsBOS has the tokenizers that put BOS before every prompt. With those of GLM and Qwen the chat template
// does it.
var addsBOS = map[string]bool{"deepseek-llm": true, "deepseek-v3": true, "gigachat": true, "kanana2": true, "kimi-k2": true, "tekken": true, "youtu": true}

// chatTemplates are short Jinja templates with the turns and marks of the real ones. The template of
// Youtu-LLM is unknown; this one is invented.
var chatTemplates = map[string]string{
	"youtu": "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
	"deepseek-v2": "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}User: {{ m.content }}\n\n" +
		"{% elif m.role == 'assistant' %}Assistant: {{ m.content }}{{ eos_token }}{% else %}{{ m.content }}\n\n{% endif %}{% endfor %}" +
		"{% if add_generation_prompt %}Assistant:{% endif %}",
	"glm4": "[gMASK]<sop>{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|></think>{{ m.content }}" +
		"{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}{% endfor %}" +
		"{% if add_generation_prompt %}<|assistant|>{% if enable_thinking is defined and not enable_thinking %}</think>{% else %}<think>{% endif %}{% endif %}",
}

// tokenizer adds a vocabulary of vocab_size tokens: all bytes, words of made-up syllables that byte-pair
// merges produce, and the control tokens. It fails for an unknown tokenizer, or a vocab_size that is too
// small.
func (l *metaList) tokenizer(s *spec.Spec) error {
	if s.Tokenizer == spec.SentencePiece {
		return l.sentencePiece(s.Model.VocabSize)
	}
	sp, ok := specials[s.Tokenizer]
	if !ok {
		return fmt.Errorf("no vocabulary for the tokenizer %q", s.Tokenizer)
	}
	first := s.Model.VocabSize - len(sp.tokens)
	if s.Model.VocabSize == sp.vocab && sp.first > 0 {
		first = sp.first
	}
	if first < 256 {
		return fmt.Errorf("vocab_size is %d; a vocabulary needs 256 bytes and %d control tokens", s.Model.VocabSize, len(sp.tokens))
	}
	v := newVocabulary(first)
	ids := map[string]int{}
	for _, t := range sp.tokens {
		ids[t] = len(v.tokens)
		v.add(t, tokenControl)
	}
	for len(v.tokens) < s.Model.VocabSize {
		v.add(fmt.Sprintf("[PAD%d]", len(v.tokens)), tokenUnused)
	}
	l.add("tokenizer.ggml.model", gguf.String("gpt2"))
	l.add("tokenizer.ggml.pre", gguf.String(s.Tokenizer))
	l.add("tokenizer.ggml.tokens", gguf.Strings(v.tokens))
	l.add("tokenizer.ggml.token_type", gguf.Int32s(v.types))
	l.add("tokenizer.ggml.merges", gguf.Strings(v.merges))
	for _, k := range sp.keys {
		l.add("tokenizer.ggml."+k.key, gguf.Uint32(uint32(ids[k.token])))
	}
	l.add("tokenizer.ggml.add_bos_token", gguf.Bool(addsBOS[s.Tokenizer]))
	if t := chatTemplates[s.ChatTemplate]; t != "" {
		l.add("tokenizer.chat_template", gguf.String(t))
	}
	return nil
}

type vocabulary struct {
	tokens []string
	types  []int32
	merges []string
}

func (v *vocabulary) add(token string, kind int32) {
	v.tokens = append(v.tokens, token)
	v.types = append(v.types, kind)
}

// space is the character for a space in byte-level vocabularies.
const space = "Ġ"

// newVocabulary makes n >= 256 normal tokens: first all bytes, then syllables, each merged from two letters,
// and then words, each merged from a space or a shorter word and a syllable.
func newVocabulary(n int) *vocabulary {
	v := &vocabulary{}
	for b := range 256 {
		v.add(string(byteRune(byte(b))), tokenNormal)
	}
	merge := func(left, right string) {
		if len(v.tokens) < n {
			v.add(left+right, tokenNormal)
			v.merges = append(v.merges, left+" "+right)
		}
	}
	var syllables []string
	for _, c := range "bcdfghjklmnprstvwz" {
		for _, vowel := range "aeiou" {
			merge(string(c), string(vowel))
			syllables = append(syllables, string(c)+string(vowel))
		}
	}
	words := []string{space}
	for len(v.tokens) < n {
		var longer []string
		for _, w := range words {
			for _, s := range syllables {
				merge(w, s)
				longer = append(longer, w+s)
			}
			if len(v.tokens) == n {
				break
			}
		}
		words = longer
	}
	return v
}

// byteRune returns the character that stands for a byte in byte-level vocabularies: the byte's Latin-1
// character if it is printable, else one from U+0100 on.
func byteRune(b byte) rune {
	next := rune(0x100)
	for c := rune(0); c < 256; c++ {
		printable := c >= '!' && c <= '~' || c >= '¡' && c <= '¬' || c >= '®'
		switch {
		case c == rune(b) && printable:
			return c
		case c == rune(b):
			return next
		case !printable:
			next++
		}
	}
	return next
}
