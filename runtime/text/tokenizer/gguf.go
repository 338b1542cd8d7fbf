package tokenizer

import (
	"fmt"
	"math"

	"mla/runtime/gguf"
)

// FromGGUF builds the tokeniser of a model file.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	v, err := ReadVocab(f)
	if err != nil {
		return nil, err
	}
	return New(v)
}

// ReadVocab reads the tokenizer keys of a model file. The model, the tokens and, depending on the model, the
// pre-tokeniser and merges or the scores are required. Missing ids are -1.
func ReadVocab(f *gguf.File) (Vocab, error) {
	r := reader{f: f}
	v := Vocab{
		Model:        required(&r, "tokenizer.ggml.model", f.String),
		Tokens:       required(&r, "tokenizer.ggml.tokens", f.Strings),
		Types:        r.int32s("tokenizer.ggml.token_type"),
		ChatTemplate: optional(&r, "tokenizer.chat_template", f.String),
	}
	bos, eos, unk, addBOS := -1, -1, -1, false
	if v.Model == modelSPM {
		v.Scores = r.float32s("tokenizer.ggml.scores")
		v.AddSpacePrefix = withDefault(&r, "tokenizer.ggml.add_space_prefix", true, f.Bool)
		bos, eos, unk, addBOS = 1, 2, 0, true // llama.cpp's defaults
	} else {
		v.Pre = optional(&r, gguf.PreKey, f.String)
		v.Merges = required(&r, "tokenizer.ggml.merges", f.Strings)
		if pre, err := preTokenizerNamed(v.Pre); err != nil {
			r.fail(err)
		} else {
			addBOS = pre.addBOS
		}
	}
	v.BOS = r.id("tokenizer.ggml.bos_token_id", bos)
	v.EOS = r.id("tokenizer.ggml.eos_token_id", eos)
	v.EOT = r.id("tokenizer.ggml.eot_token_id", -1)
	v.EOM = r.id("tokenizer.ggml.eom_token_id", -1)
	v.UNK = r.id("tokenizer.ggml.unknown_token_id", unk)
	v.FIM = noFIM
	for _, role := range fimRoles {
		for _, key := range role.keys {
			if at := role.at(&v.FIM); *at < 0 {
				*at = int32(r.id("tokenizer.ggml."+key, -1))
			}
		}
	}
	v.AddBOS = withDefault(&r, "tokenizer.ggml.add_bos_token", addBOS && v.BOS >= 0, f.Bool)
	v.AddEOS = withDefault(&r, "tokenizer.ggml.add_eos_token", false, f.Bool)
	v.Ends = r.int32s("tokenizer.ggml.eos_token_ids")
	return v, r.err
}

// reader keeps the first error, so that keys can be read one after the other.
type reader struct {
	f   *gguf.File
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func read[T any](r *reader, key string, get func(string) (T, bool, error)) (value T, found bool) {
	value, found, err := get(key)
	if err != nil {
		r.fail(err)
	}
	return value, found
}

func optional[T any](r *reader, key string, get func(string) (T, bool, error)) T {
	value, _ := read(r, key, get)
	return value
}

func withDefault[T any](r *reader, key string, def T, get func(string) (T, bool, error)) T {
	if value, found := read(r, key, get); found {
		return value
	}
	return def
}

func required[T any](r *reader, key string, get func(string) (T, bool, error)) T {
	value, found := read(r, key, get)
	if !found {
		r.fail(fmt.Errorf("%s is missing: the file has no tokeniser that can be used", key))
	}
	return value
}

// id reads an optional token id; def is the result for a missing key.
func (r *reader) id(key string, def int) int {
	id, found := read(r, key, r.f.Uint)
	switch {
	case !found:
		return def
	case id > math.MaxInt32:
		r.fail(fmt.Errorf("%s is %d, outside any vocabulary", key, id))
		return -1
	}
	return int(id)
}

func (r *reader) int32s(key string) []int32 {
	wide, found := read(r, key, r.f.Ints)
	if !found {
		return nil
	}
	out := make([]int32, len(wide))
	for i, x := range wide {
		if x < math.MinInt32 || x > math.MaxInt32 {
			r.fail(fmt.Errorf("%s[%d] is %d; expected a number of 32 bits", key, i, x))
			return nil
		}
		out[i] = int32(x)
	}
	return out
}

func (r *reader) float32s(key string) []float32 {
	wide := required(r, key, r.f.Floats)
	out := make([]float32, len(wide))
	for i, x := range wide {
		out[i] = float32(x)
	}
	return out
}
