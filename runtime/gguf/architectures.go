package gguf

import (
	"maps"
	"slices"
	"strings"
)

// Deepseek2 is the architecture that the others are described by. BailingMoE3 (Ling-3.0) and KimiLinear are hybrids.
const (
	Deepseek2   = "deepseek2"
	BailingMoE3 = "bailingmoe3"
	KimiLinear  = "kimi-linear"
)

// Architecture is what models of one general.architecture have that no key of their
// files says: constants of llama.cpp, and so of the models.
type Architecture struct {
	// MScale is what YaRN's magnitude is made of beside mscale_all_dim; 0: the same.
	MScale float64
	// F32Down says that what experts hand to their down projection can exceed the range of
	// half, so that it stays float32 whatever the activations are.
	F32Down bool

	// Dense says that no layer has experts, that files have attn_kv_b and no more, and
	// that key_length and value_length are those of a head.
	Dense bool
	// FullQuery says that there is no low-rank query, whatever the layers; without it the
	// key q_lora_rank says.
	FullQuery bool
	// HalfSplit says that rotary embedding turns the pairs (i, i+n/2) instead of (2i, 2i+1).
	HalfSplit bool
	// RopeFactors says that files may have ShortFactors and LongFactors.
	RopeFactors bool
	// SquaredReLU says that feed-forward parts are down(max(0, up(x))²), without a gate.
	SquaredReLU bool
	// Tied says that the head is the embedding table even beside an output.weight.
	Tied bool
	// SharedHead says that a layer that predicts has the model's embedding and head, and layer_output_norm in front of it.
	SharedHead bool
	// Besides are tensors that files may have and that are no weights of kernels: what is
	// in them is used otherwise, or not at all.
	Besides []string
	// ScaleEmb multiplies the embedding, ScaleDepth over the square root of the number of
	// layers what is added to the residual stream, DimModelBase over its width the last
	// norm; 0: 1.
	ScaleEmb, ScaleDepth, DimModelBase float64

	// Hybrid says that the array attention.head_count_kv tells layers with linear attention, Kimi Delta
	// Attention, from those with multi-head latent attention, and Keys which keys files have for it.
	Hybrid bool
	Keys   []string
	// LowRankGates says that linear attention makes its forget and output gates of head_dim numbers; without it
	// of the layer's input. BoundedGate says that the logarithm of what is kept is bound * sigmoid(x) instead of
	// -exp(A) * softplus(x).
	LowRankGates, BoundedGate bool
	// NoRope says that queries and keys stay as they are, whatever their positions.
	NoRope bool
	// HeadGates says that a gate multiplies each head of multi-head latent attention.
	HeadGates bool
	// NormTopK says that the weights of the selected experts are normalised, though no key says so.
	NormTopK bool
}

// The tensors that rotary frequencies are divided by.
const (
	ShortFactors = "rope_factors_short.weight"
	LongFactors  = "rope_factors_long.weight"
)

// architectures are those that ReadHParams accepts, by name, which is also the prefix
// of their keys.
var architectures = map[string]Architecture{
	Deepseek2: {},
	BailingMoE3: {Hybrid: true, BoundedGate: true, HeadGates: true, SharedHead: true, Keys: append([]string{
		safeGate, "kda.gate_lower_bound", "expert_shared_feed_forward_length", "swiglu_clamp_exp", "swiglu_clamp_shexp"}, linearKeys...)},
	KimiLinear: {Hybrid: true, LowRankGates: true, NoRope: true, NormTopK: true, FullQuery: true, Keys: linearKeys},
	"minicpm3": {Dense: true, HalfSplit: true, RopeFactors: true, Besides: []string{ShortFactors, LongFactors}, ScaleEmb: 12, ScaleDepth: 1.4, DimModelBase: 256},
	"mistral4": {MScale: 1, F32Down: true},
	"plm":      {Dense: true, FullQuery: true, SquaredReLU: true, Tied: true, Besides: []string{"output.weight"}},
}

// dialects are other names of architectures, in files of other converters.
var dialects = map[string]dialect{
	"glm4moelite": {name: Deepseek2, swapped: true}, // ollama's, of GLM-4.7-Flash
}

// dialect is how the keys of such files differ.
type dialect struct {
	name string // of the architecture
	// swapped says that the *_mla keys have the widths of cache rows, and key_length and
	// value_length those of a head, where the others have it the other way round.
	swapped bool
}

// What architectures have that is not computed here.
const (
	hasDSA = "multi-head latent attention with sparse attention on top (DSA: an indexer picks the cache rows of each query)"
	hasKDA = "layers with linear attention (KDA, Kimi Delta Attention) between those with multi-head latent attention"
	hasTwo = "multi-head latent attention with two attention blocks per layer, and experts that do nothing (LongCat-Flash)"
)

// uncovered are architectures that are kin to these, and what they add that is not
// computed here. Some of their files would pass for a deepseek2 with other keys.
var uncovered = map[string]string{
	"deepseek":             "attention with full keys and values (DeepSeek-V1), not multi-head latent attention",
	"deepseek2-ocr":        "attention with full keys and values and an image encoder (DeepSeek-OCR), not multi-head latent attention",
	"deepseek32":           hasDSA,
	"deepseek4":            "attention over a compressed, sparse cache and several residual streams (DeepSeek-V4)",
	"dots3note":            hasDSA + ", sliding windows and gates",
	"glm-dsa":              hasDSA,
	"glm5next":             hasKDA + ", sparse attention, and several residual streams (GLM-5.3-Flash)",
	"hy-v4":                hasDSA + ", attention sinks and several residual streams",
	"hy_v4":                hasDSA + ", attention sinks and several residual streams",
	"kimi-k3":              hasKDA + ", and experts in a latent space",
	"longcat-flash":        hasTwo,
	"longcat-flash-ngram":  hasTwo,
	"longcat-flash-sparse": hasTwo,
	"longcatflash":         hasTwo,
}

// Architectures lists the values of general.architecture that ReadHParams accepts.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }

// ArchitectureOf describes one of Architectures.
func ArchitectureOf(name string) Architecture { return architectures[name] }

// architecture finds out what kind of model the file holds, and returns its name.
func (r *keyReader) architecture() string {
	const key = "general.architecture"
	if what := r.f.notModel(); what != "" {
		r.fail("this is no model: %s", what)
	}
	r.arch = optional(r, key, "", r.f.String)
	name := r.arch
	if d, ok := dialects[name]; ok {
		name, r.swapped = d.name, d.swapped
	}
	var known bool
	if r.of, known = architectures[name]; known || r.err != nil {
		return name
	}
	covered := strings.Join(Architectures(), ", ")
	_, latent := r.f.Lookup(r.key("attention.kv_lora_rank"))
	switch has := uncovered[r.arch]; {
	case r.arch == "":
		r.fail("key %q is missing; expected one of %s", key, covered)
	case has != "":
		r.fail("key %q is %q: %s; this program covers multi-head latent attention over the whole cache (%s)", key, r.arch, has, covered)
	case latent:
		r.fail("key %q is %.64q, which this program does not know. The model has multi-head latent attention, but nobody knows here what else it computes; covered are %s", key, r.arch, covered)
	default:
		r.fail("key %q is %.64q; expected an architecture with multi-head latent attention that this program covers: %s. Models with other attention, such as llama, are for general programs, such as llama.cpp",
			key, r.arch, covered)
	}
	return name
}
