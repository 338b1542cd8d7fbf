package gguf

import (
	"fmt"

	"mla/runtime/gguf/hparams"
)

// HParams is the hyper-parameters of a model in a file. Floats are the file's float32 values, so 1e-6 is
// float64(float32(1e-6)).
type HParams struct {
	Architecture string          // one of Architectures
	hparams.Dims                 // NumHiddenLayers is without the NextNLayers that follow
	hparams.MoE                  // all zero except FirstKDenseReplace if every layer is dense
	Hybrid       *hparams.Hybrid // nil: all layers have multi-head latent attention

	RopeTheta   float64
	RopeScaling RopeScaling
	Temperature Temperature

	NextNLayers int  // number of MTP layers after the last layer
	NextN       bool // the file has the first of these layers
	NextNOnly   bool // and no other layer
	LegacyKVB   bool // attn_kv_b instead of attn_k_b and attn_v_b
	FusedGateUp bool // ffn_gate_up_exps instead of ffn_gate_exps and ffn_up_exps

	TokenizerModel string // "": the file does not say
	TokenizerPre   string
}

// Temperature scales queries by their position p: by 1 + Scale ln(floor(p / Length) + 1). A Scale of 0 has no
// effect.
type Temperature struct {
	Scale  float64
	Length int // tokens
}

// RopeScaling is how rotary frequencies are scaled for contexts longer than the model's first training.
type RopeScaling struct {
	Type            string // "none", "linear" (with Factor 1: no effect) or "yarn"
	Factor          float64
	OriginalContext int
	AttnFactor      float64
	// LogMultiplier is 0.1 * mscale_all_dim. A file without the key differs from one with the value 0.1;
	// HasLogMultiplier tells them apart.
	LogMultiplier    float64
	HasLogMultiplier bool
}

// Upper bounds of dimensions. They are far above any known model, and every product of two is below 2^53.
const (
	maxLayers  = 512
	maxWidth   = 1 << 20
	maxVocab   = 1 << 24
	maxExperts = 1 << 12
	maxContext = 1 << 30
)

// ReadHParams reads the hyper-parameters of a model of one of Architectures, with the defaults and special
// cases of llama.cpp. An error names the key or tensor that is missing or out of range, or a key of a feature
// that is not implemented; keyRules lists these.
func ReadHParams(f *File) (HParams, error) {
	r := &keyReader{f: f}
	h := HParams{Architecture: r.architecture()}
	r.unexpectedKeys()
	r.size(&h)
	r.attention(&h)
	r.feedForward(&h)
	r.hybrid(&h)
	r.rope(&h)
	r.temperature(&h)
	h.TokenizerModel = optional(r, "tokenizer.ggml.model", "", f.String)
	h.TokenizerPre = optional(r, "tokenizer.ggml.pre", "", f.String)
	if r.err != nil {
		return HParams{}, r.err
	}
	return h, nil
}

// size reads the overall dimensions.
func (r *keyReader) size(h *HParams) {
	blocks := r.need("block_count", 1, maxLayers)
	h.NextNLayers = r.dim("nextn_predict_layers", 0, 0, maxLayers)
	if h.NextNLayers >= blocks {
		r.failKey("nextn_predict_layers", "is %d; expected less than block_count, which is %d", h.NextNLayers, blocks)
	}
	h.NumHiddenLayers = blocks - h.NextNLayers
	h.NextN = h.NextNLayers > 0 && r.hasTensor(fmt.Sprintf("blk.%d.attn_norm.weight", h.NumHiddenLayers))
	h.NextNOnly = h.NextN && !r.hasTensor("blk.0.attn_norm.weight")
	r.needs(&h.Dims, "max_position_embeddings", "hidden_size", "rms_norm_eps")
	h.VocabSize = r.vocabulary(h.HiddenSize)
	h.TieWordEmbeddings = r.of.Tied || !r.hasTensor("output.weight")
}

// vocabulary returns the number of rows of the embedding table, which the
// tokenizer must agree with.
func (r *keyReader) vocabulary(hidden int) int {
	const name, tokens = "token_embd.weight", "tokenizer.ggml.tokens"
	if r.err != nil {
		return 0
	}
	t, ok := r.f.Tensor(name)
	switch {
	case !ok:
		r.fail("tensor %q is missing", name)
	case len(t.Dims) != 2 || t.Dims[0] != uint64(hidden) || t.Dims[1] > maxVocab:
		r.fail("tensor %q has dimensions %d; expected [%d V], embedding_length by a vocabulary of at most %d",
			name, t.Dims, hidden, maxVocab)
	}
	if r.err != nil {
		return 0
	}
	if n := r.dim("vocab_size", int(t.Dims[1]), 0, maxVocab); uint64(n) != t.Dims[1] {
		r.failKey("vocab_size", "is %d; expected %d, the rows of tensor %q", n, t.Dims[1], name)
	}
	if v, ok := r.f.Lookup(tokens); ok && uint64(v.Len()) != t.Dims[1] {
		r.fail("key %q has %d elements; expected %d, the rows of tensor %q", tokens, v.Len(), t.Dims[1], name)
	}
	return int(t.Dims[1])
}

// IsLite recognises the models without a low-rank query as llama.cpp does: DeepSeek-V2-Lite (27 layers) and
// relatives. For these the key q_lora_rank is ignored.
func IsLite(layers, vocab int) bool {
	return layers == 26 || layers == 27 || layers == 48 && vocab == 128256
}

// attention reads the dimensions of multi-head latent attention. Files from before the *_mla keys existed
// have the unsplit attn_kv_b, and in key_length and value_length the values of the later *_mla keys.
func (r *keyReader) attention(h *HParams) {
	r.needs(&h.Dims, "num_attention_heads", "kv_lora_rank")
	switch {
	case r.of.FullQuery:
	case r.of.Hybrid:
		h.QLoraRank = r.dim("attention.q_lora_rank", 0, 0, maxWidth)
	case r.of.Dense || !IsLite(h.NumHiddenLayers, h.VocabSize):
		r.needs(&h.Dims, "q_lora_rank")
	}
	h.QKRopeHeadDim = r.need("rope.dimension_count", 2, maxWidth)
	if h.QKRopeHeadDim%2 != 0 {
		r.failKey("rope.dimension_count", "is %d; expected an even number", h.QKRopeHeadDim)
	}

	keyName, valueName := "attention.key_length_mla", "attention.value_length_mla"
	cacheKey, cacheValue := "attention.key_length", "attention.value_length"
	if r.swapped {
		keyName, valueName, cacheKey, cacheValue = cacheKey, cacheValue, keyName, valueName
	}
	key, value := r.dim(keyName, 0, 0, maxWidth), r.dim(valueName, 0, 0, maxWidth)
	h.LegacyKVB = r.of.Dense || key == 0 || value == 0
	switch {
	case r.of.Hybrid: // attention.value_length exists, but is meaningless
		h.LegacyKVB = false
		key, value = r.need(keyName, 1, maxWidth), r.need(valueName, 1, maxWidth)
		r.cacheWidth(cacheKey, h.KVLoraRank+h.QKRopeHeadDim, "kv_lora_rank + rope.dimension_count")
	case h.LegacyKVB:
		keyName, valueName = "attention.key_length", "attention.value_length"
		key = r.need(keyName, 1, maxWidth)
		value = r.headWidth(valueName, h)
		r.needTensor("blk.0.attn_kv_b.weight", "which a file without attention.key_length_mla needs")
	default:
		r.cacheWidth(cacheKey, h.KVLoraRank+h.QKRopeHeadDim, "kv_lora_rank + rope.dimension_count")
		r.cacheWidth(cacheValue, h.KVLoraRank, "kv_lora_rank")
	}
	if key <= h.QKRopeHeadDim {
		r.failKey(keyName, "is %d; expected more than rope.dimension_count, which is %d", key, h.QKRopeHeadDim)
	}
	h.QKNopeHeadDim = key - h.QKRopeHeadDim
	h.VHeadDim = value
}

// headWidth reads the width of a head's values. Without the key, the heads of dense architectures divide the
// model's width.
func (r *keyReader) headWidth(name string, h *HParams) int {
	if !r.of.Dense || r.err != nil {
		return r.need(name, 1, maxWidth)
	}
	return r.dim(name, h.HiddenSize/h.NumAttentionHeads, 1, maxWidth)
}

// cacheWidth checks a length that follows from other keys, if the file has it.
func (r *keyReader) cacheWidth(name string, want int, why string) {
	if got := r.dim(name, want, 1, 2*maxWidth); got != want {
		r.failKey(name, "is %d; expected %d, %s", got, want, why)
	}
}
