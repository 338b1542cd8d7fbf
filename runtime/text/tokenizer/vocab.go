package tokenizer

import (
	"fmt"
	"math"
	"strings"
)

// Vocab is a tokeniser as a GGUF file describes it; the comments name the keys. Optional ids are -1 if the
// file does not have them.
type Vocab struct {
	Model  string    // tokenizer.ggml.model: "gpt2" for byte-level BPE, "llama" for SentencePiece
	Pre    string    // tokenizer.ggml.pre; not for SentencePiece
	Tokens []string  // tokenizer.ggml.tokens, for BPE in the byte alphabet; an empty token occurs in no text and prints nothing
	Types  []int32   // tokenizer.ggml.token_type; nil: all normal
	Merges []string  // tokenizer.ggml.merges, "left right", best first; for BPE
	Scores []float32 // tokenizer.ggml.scores, one per token; for SentencePiece

	BOS int // tokenizer.ggml.bos_token_id
	EOS int // tokenizer.ggml.eos_token_id
	EOT int // tokenizer.ggml.eot_token_id
	EOM int // tokenizer.ggml.eom_token_id
	UNK int // tokenizer.ggml.unknown_token_id
	// Ends are further tokens that end a generation: tokenizer.ggml.eos_token_ids, which ollama's converter
	// writes.
	Ends []int32
	FIM  FIM // tokenizer.ggml.fim_pre_token_id and similar keys

	AddBOS         bool   // tokenizer.ggml.add_bos_token
	AddEOS         bool   // tokenizer.ggml.add_eos_token
	AddSpacePrefix bool   // tokenizer.ggml.add_space_prefix, for SentencePiece
	ChatTemplate   string // tokenizer.chat_template, for package chat
}

// Values of Vocab.Model.
const (
	modelBPE = "gpt2"
	modelSPM = "llama"
)

// Token types as GGUF numbers them.
const (
	TypeUndefined int32 = iota
	TypeNormal
	TypeUnknown
	TypeControl
	TypeUserDefined
	TypeUnused
	TypeByte
)

// maxSpecial bounds the length of a special token in bytes, because the search for special tokens compares up
// to that many bytes at every position. It also bounds SentencePiece's tokens, for which every split in two
// is looked up.
const maxSpecial = 1024

// NoTokens returns a Vocab whose optional ids are all absent.
func NoTokens() Vocab { return Vocab{BOS: -1, EOS: -1, EOT: -1, EOM: -1, UNK: -1, FIM: noFIM} }

// typeOf returns the type of a token; in files without types, tokens are normal.
func (v *Vocab) typeOf(id int) int32 {
	if v.Types == nil || v.Types[id] == TypeUndefined {
		return TypeNormal
	}
	return v.Types[id]
}

// check reports the first invalid field, by its GGUF key.
func (v *Vocab) check() error {
	if v.Model != modelBPE && v.Model != modelSPM {
		return fmt.Errorf("tokenizer.ggml.model is %.64q, expected %q (byte-level BPE) or %q (SentencePiece)", v.Model, modelBPE, modelSPM)
	}
	if len(v.Tokens) == 0 {
		return fmt.Errorf("tokenizer.ggml.tokens is missing or empty")
	}
	if len(v.Tokens) > math.MaxInt32 || len(v.Merges) > math.MaxInt32 {
		return fmt.Errorf("tokenizer.ggml.tokens has %d entries, tokenizer.ggml.merges %d: at most %d are possible",
			len(v.Tokens), len(v.Merges), math.MaxInt32)
	}
	if v.Types != nil && len(v.Types) != len(v.Tokens) {
		return fmt.Errorf("tokenizer.ggml.token_type has %d entries, tokenizer.ggml.tokens %d",
			len(v.Types), len(v.Tokens))
	}
	if v.Model == modelSPM {
		if err := v.checkScores(); err != nil {
			return err
		}
	}
	for id := range v.Tokens {
		if err := v.checkToken(id); err != nil {
			return err
		}
	}
	return v.checkIDs()
}

func (v *Vocab) checkToken(id int) error {
	token := v.Tokens[id]
	if v.Types != nil && (v.Types[id] < TypeUndefined || v.Types[id] > TypeByte) {
		return fmt.Errorf("tokenizer.ggml.token_type[%d] is %d, expected 1 to %d", id, v.Types[id], TypeByte)
	}
	switch v.typeOf(id) {
	case TypeNormal, TypeUnused:
	case TypeByte:
		if _, ok := byteToken(token); !ok {
			return fmt.Errorf("tokenizer.ggml.tokens[%d] is %.64q with type byte, expected <0x00> to <0xFF>", id, token)
		}
	default:
		if len(token) > maxSpecial {
			return fmt.Errorf("tokenizer.ggml.tokens[%d] is a special token of %d bytes, at most %d are supported",
				id, len(token), maxSpecial)
		}
	}
	return nil
}

func (v *Vocab) checkScores() error {
	if len(v.Scores) != len(v.Tokens) {
		return fmt.Errorf("tokenizer.ggml.scores has %d entries, tokenizer.ggml.tokens %d", len(v.Scores), len(v.Tokens))
	}
	for id, x := range v.Scores {
		if x != x {
			return fmt.Errorf("tokenizer.ggml.scores[%d] is not a number", id)
		}
		if n := len(v.Tokens[id]); n > maxSpecial {
			return fmt.Errorf("tokenizer.ggml.tokens[%d] has %d bytes, at most %d are supported", id, n, maxSpecial)
		}
	}
	return nil
}

func (v *Vocab) checkIDs() error {
	type named struct {
		key string
		id  int
	}
	ids := []named{
		{"bos_token_id", v.BOS},
		{"eos_token_id", v.EOS},
		{"eot_token_id", v.EOT},
		{"eom_token_id", v.EOM},
		{"unknown_token_id", v.UNK},
	}
	for _, role := range fimRoles {
		ids = append(ids, named{role.keys[0], int(*role.at(&v.FIM))})
	}
	for _, f := range ids {
		if f.id < -1 || f.id >= len(v.Tokens) {
			return fmt.Errorf("tokenizer.ggml.%s is %d, outside the vocabulary of %d tokens", f.key, f.id, len(v.Tokens))
		}
	}
	for _, id := range v.Ends {
		if id < 0 || int(id) >= len(v.Tokens) {
			return fmt.Errorf("tokenizer.ggml.eos_token_ids has %d, outside the vocabulary of %d tokens", id, len(v.Tokens))
		}
	}
	if v.AddBOS && v.BOS < 0 {
		return fmt.Errorf("tokenizer.ggml.add_bos_token is true, but tokenizer.ggml.bos_token_id is not given")
	}
	if v.AddEOS && v.EOS < 0 {
		return fmt.Errorf("tokenizer.ggml.add_eos_token is true, but tokenizer.ggml.eos_token_id is not given")
	}
	return nil
}

// byteToken parses a token of type byte, `<0x0A>`.
func byteToken(token string) (b byte, ok bool) {
	hex, ok := strings.CutPrefix(token, "<0x")
	if !ok || len(token) != len("<0x0A>") || token[5] != '>' {
		return 0, false
	}
	for _, c := range []byte(hex[:2]) {
		digit := strings.IndexByte("0123456789ABCDEF", c)
		if digit < 0 {
			digit = strings.IndexByte("0123456789abcdef", c)
		}
		if digit < 0 {
			return 0, false
		}
		b = b<<4 | byte(digit)
	}
	return b, true
}
