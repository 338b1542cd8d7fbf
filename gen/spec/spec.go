// Package spec reads the YAML description of a model that mlagen compiles.
// Every value keeps its line and column, so that all mistakes are reported
// together as file:line:col: message. Retune writes into such a file.
package spec

import (
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Spec is one model, to be compiled with one type of activations for one class of
// devices: a variant of what its file describes. Field names in YAML are those of the Hugging Face
// configuration; see mla.schema.json for the file format.
type Spec struct {
	Name string // names the bundle: Name(File), then "f16" if that is what activations are, then Class
	File string // base name of the file
	Path string // of the file as it was given, for messages
	Hash string // sha256 of the file, hexadecimal

	Architecture string // general.architecture of its files, one of gguf.Architectures
	Model        Model
	Temperature  plan.Temperature
	Rope         Rope
	MoE          *MoE    // nil: every layer is dense
	Hybrid       *Hybrid // nil: every layer has multi-head latent attention
	Tokenizer    string
	ChatTemplate string
	Activations  string // one of Activations: what kernels pass to each other
	Class        string // one of plan.Classes, whose devices Tuning is for; "": any
	NextN        int    // number of the layer that this variant is, see NextNLayer; 0: it is the model
	Main         *Spec  // of a layer that predicts: the variant of the model that it is a layer of
	Quants       []Quant
	Tuning       Tuning

	experts     hparams.HybridExperts // that the file says, and Hybrid has too
	activations []string              // that the file asks for
	sequences   []int                 // widths that the file asks for on any device; nil: the default
	tunings     tunings               // that the file has
}

// Model holds the dimensions.
type Model struct {
	Title string // what people call it
	Dims
	NumNextNPredictLayers int // 1: files may have one layer more, which predicts the token after next
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

// Dims, MoE and Hybrid are what files and bundles have too.
type (
	Dims   = hparams.Dims
	MoE    = hparams.MoE
	Hybrid = hparams.Hybrid
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
	// Types gives roles the types of their layers. It goes before Stock.
	Types []RoleTypes
	// NextN is Types of the layer that predicts.
	NextN []RoleTypes
}

// RoleTypes gives the quant type of one role in every layer that has it
// (one entry for roles outside the layers).
type RoleTypes struct {
	Role  string
	Types []quant.Type
}

// Tuning holds the constants of the kernels; of a Spec, what its file leaves out has
// its default.
type Tuning struct {
	Attention Attention
	// AttendHeads is attention over expanded heads, of sequences that have enough rows for it.
	AttendHeads AttendHeads
	// Kernels shapes kernels by name, e.g. "lm_head", or in sequences of one width alone,
	// "lm_head_x4".
	Kernels []KernelShape
	// SumGroup bounds how many results of a partial norm share one sum of squares; 0:
	// their shapes do. No file says it: it keeps the kernels that read those sums as
	// they are while mlagen tune tries shapes for the kernels that make them.
	SumGroup int
	// MatVec shapes the kernels that Kernels does not name; zeros are left to ShapeFor. No file says
	// it: random small models have small threadgroups by it.
	MatVec Shape
}

// AttendHeads is how attention over expanded heads is shared out; see plan.AttendHeads.
type AttendHeads struct {
	// From is the fewest rows of a sequence that expands heads; 0: what its heads' sizes say.
	From             int
	RowsPerSimdgroup int // queries
	Simdgroups       int
	SplitK           int // simdgroups that share queries
	Tile             int // cache rows at most
}

// KernelShape is a Shape for one kernel, and where the file gives it.
type KernelShape struct {
	Kernel string
	Shape
	Line, Column int
}

// Attention is how attention is cut along the KV axis.
type Attention struct {
	Splits, Tile, Simdgroups int
}
