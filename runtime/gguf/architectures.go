package gguf

import (
	"maps"
	"slices"
	"strings"
)

// Names of architectures. Deepseek2 is the one that others are described relative to. BailingMoE3 (Ling-3.0)
// and KimiLinear are hybrids.
const (
	Deepseek2   = "deepseek2"
	BailingMoE3 = "bailingmoe3"
	KimiLinear  = "kimi-linear"
)

// Architecture is the properties of all models of one general.architecture that no key of their files states.
// They are constants of llama.cpp.
type Architecture struct {
	// MScale is the mscale of YaRN, beside mscale_all_dim; 0: the same number.
	MScale float64
	// F32Down says that the inputs of the experts' down projections can exceed the range of halves, so they
	// stay float32 for any activations.
	F32Down bool

	// Dense says that no layer has experts, that files have only attn_kv_b, and that key_length and
	// value_length are those of a head.
	Dense bool
	// FullQuery says that queries have no low-rank factor in any layer. Otherwise the key q_lora_rank says
	// so.
	FullQuery bool
	// HalfSplit says that rotary embedding rotates the pairs (i, i+n/2) instead of (2i, 2i+1).
	HalfSplit bool
	// RopeFactors says that files may have ShortFactors and LongFactors.
	RopeFactors bool
	// SquaredReLU says that feed-forward parts are down(max(0, up(x))²), without a gate.
	SquaredReLU bool
	// Tied says that the head is the embedding table even beside an output.weight.
	Tied bool
	// SharedHead says that an MTP layer uses the model's embedding and head, with layer_output_norm before
	// the head.
	SharedHead bool
	// Besides lists tensors that files may have and that are not weights of kernels: they are used otherwise,
	// or not at all.
	Besides []string
	// ScaleEmb multiplies the embedding. ScaleDepth, divided by the root of the number of layers, multiplies
	// what each layer adds to the residual stream. DimModelBase, divided by the model's width, multiplies the
	// last norm. 0: a factor of 1.
	ScaleEmb, ScaleDepth, DimModelBase float64

	// Hybrid says that the array attention.head_count_kv separates layers with linear attention (Kimi Delta
	// Attention) from those with multi-head latent attention. Keys lists the keys that files have for linear
	// attention.
	Hybrid bool
	Keys   []string
	// LowRankGates says that linear attention computes its forget and output gates from head_dim numbers;
	// otherwise it does from the layer's input. BoundedGate says that the logarithm of the decay is bound *
	// sigmoid(x) instead of -exp(A) * softplus(x).
	LowRankGates, BoundedGate bool
	// NoRope says that queries and keys are not rotated.
	NoRope bool
	// HeadGates says that a gate multiplies each head of multi-head latent attention.
	HeadGates bool
	// NormTopK says that the weights of the selected experts are normalised, although no key says so.
	NormTopK bool
}

// Names of tensors with divisors of rotary frequencies.
const (
	ShortFactors = "rope_factors_short.weight"
	LongFactors  = "rope_factors_long.weight"
)

// architectures is the architectures that ReadHParams accepts, by name. The name is also the prefix of their
// keys.
var architectures = map[string]Architecture{
	Deepseek2: {},
	BailingMoE3: {Hybrid: true, BoundedGate: true, HeadGates: true, SharedHead: true, Keys: append([]string{
		safeGate, "kda.gate_lower_bound", "expert_shared_feed_forward_length", "swiglu_clamp_exp", "swiglu_clamp_shexp"}, linearKeys...)},
	KimiLinear: {Hybrid: true, LowRankGates: true, NoRope: true, NormTopK: true, FullQuery: true, Keys: linearKeys},
	"minicpm3": {Dense: true, HalfSplit: true, RopeFactors: true, Besides: []string{ShortFactors, LongFactors}, ScaleEmb: 12, ScaleDepth: 1.4, DimModelBase: 256},
	"mistral4": {MScale: 1, F32Down: true},
	"plm":      {Dense: true, FullQuery: true, SquaredReLU: true, Tied: true, Besides: []string{"output.weight"}},
}

// dialects maps names of architectures in files of other converters.
var dialects = map[string]dialect{
	"glm4moelite": {name: Deepseek2, swapped: true}, // ollama's, of GLM-4.7-Flash
}

// dialect is how the keys of such files differ.
type dialect struct {
	name string // of the architecture
	// swapped says that the *_mla keys have the widths of cache rows, and key_length and value_length those
	// of a head; usually it is the other way round.
	swapped bool
}

// Features of architectures that are not implemented.
const (
	hasDSA = "multi-head latent attention with sparse attention on top (DSA: an indexer picks the cache rows of each query)"
	hasKDA = "layers with linear attention (KDA, Kimi Delta Attention) between those with multi-head latent attention"
	hasTwo = "multi-head latent attention with two attention blocks per layer, and experts that do nothing (LongCat-Flash)"
)

// uncovered maps related architectures to their features that are not implemented. Some of their files could
// pass for deepseek2 with other keys.
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

// architecture returns the name of the file's architecture.
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
