// Package spec reads the YAML description of a model that mlagen compiles. Every value keeps its line and
// column, and all mistakes are reported at once, as file:line:col: message. What was tuned for devices is in
// tuning files beside the spec (TuningFiles), which Retune writes.
package spec

import (
	"mla/gen/target"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Spec is one variant of a model: the model with one type of activations for one class of devices. Variants
// lists all variants of a file. Field names in YAML are those of the Hugging Face configuration;
// mla.schema.json has the file format.
type Spec struct {
	Name string // of the bundle: Name(File), "nextn" for a multi-token-prediction layer, "f16" for such activations, Class
	File string // base name of the file
	Path string // of the file as it was given, for messages
	Hash string // sha256 of Text, hexadecimal
	Text []byte // the spec with its tuning in one file; Parse reads the same spec from it

	Architecture string // general.architecture of the GGUF files, one of gguf.Architectures
	Model        Model
	Temperature  plan.Temperature
	Rope         Rope
	MoE          *MoE    // nil: every layer is dense
	Hybrid       *Hybrid // nil: every layer has multi-head latent attention
	Tokenizer    string
	ChatTemplate string
	Activations  string // one of Activations: the type of what kernels pass to each other
	Class        string // class of devices, one of plan.Classes; "": any device
	NextN        int    // see NextNLayer: the number of the layer that this variant is; 0: it is the whole model
	Main         *Spec  // if NextN > 0: the same variant of the whole model
	Quants       []Quant
	Tuning       Tuning

	experts     hparams.HybridExperts // keys of moe that only hybrid models have; decoder.hybrid copies them to Hybrid
	activations []string              // types of activations that the file lists
	sequences   []int                 // widths that the file lists for any device; nil: DefaultSequences
	tunings     tunings               // of the spec and its tuning files
	model       []byte                // content of the spec's file
	tuningFiles []Text
}

// Model has the name and the dimensions of a model.
type Model struct {
	Title string // the name for people
	Dims
	NumNextNPredictLayers int // 1: files may have one more layer, for multi-token prediction
}

// Rope holds the rotary embedding. Scaling nil means none.
type Rope struct {
	Theta   float64
	Scaling *Yarn
}

// Yarn holds YaRN scaling; MScaleAllDim 0 means that the file has none.
type Yarn struct {
	Factor                        float64
	OriginalMaxPositionEmbeddings int
	MScaleAllDim                  float64
	AttnFactor                    float64 // 1 by default
}

// Dims, MoE and Hybrid are the types that GGUF headers and bundles have, too.
type (
	Dims   = hparams.Dims
	MoE    = hparams.MoE
	Hybrid = hparams.Hybrid
)

// The values that a tuning chooses. Package target has the defaults.
type (
	Shape       = target.Shape
	Attention   = target.Attention
	AttendHeads = target.AttendHeads
)

// Quant is one quant profile that the bundle covers: a stock file type
// ("q4_k_m", "q4_0 imatrix", …), explicit types per role, or a stock file type
// some of whose roles have other types.
type Quant struct {
	Name string // unique in the spec
	// LegacyKVB says that the file has one attn_kv_b instead of k_b and v_b.
	LegacyKVB bool
	// Stock is the file type, one of Stocks; empty when Types names every role.
	Stock string
	// IMatrix selects the stock mix made with an importance matrix.
	IMatrix bool
	// Types gives roles the types of their layers. They override Stock.
	Types []RoleTypes
	// NextN is the same for the multi-token-prediction layer.
	NextN []RoleTypes
}

// RoleTypes gives the quant type of one role in every layer that has it
// (one entry for roles outside the layers).
type RoleTypes struct {
	Role  string
	Types []quant.Type
}

// Tuning has the tunable constants of the kernels. In a Spec the values that its files leave out have their
// defaults.
type Tuning struct {
	Attention Attention
	// AttendHeads is for attention over expanded heads, in sequences with enough rows for it.
	AttendHeads AttendHeads
	// Found says where the whole tuning comes from. AttentionFound and AttendHeadsFound are for these two.
	Found, AttentionFound, AttendHeadsFound Found
	// Kernels has the shapes of kernels by name, e.g. "lm_head", or for one width "lm_head_x4".
	Kernels []KernelShape
	// SumGroup bounds the number of results of a partial norm that share one sum of squares; 0: the kernels'
	// shapes bound it. Files cannot set it. mlagen tune sets it, so that the readers of those sums stay the
	// same while it tries shapes for the writers.
	SumGroup int
	// MatVec is the shape of the kernels that Kernels does not name; package target chooses the zeros. Files
	// cannot set it. Tests use it to give random small models small threadgroups.
	MatVec Shape
}

// KernelShape is the shape of one kernel, with its position in the file.
type KernelShape struct {
	Kernel string
	Shape
	Found
	File         string
	Line, Column int
}
