// Package plan holds the types that generated code fills: a Bundle is one compiled model as data. The package
// only looks things up. What a field means is defined here and nowhere else: the compiler (gen) and the
// devices (runtime/device) both follow these comments.
//
// # Expanded heads
//
// Latent attention reads the cache rows as they are. For a long prompt it is cheaper to compute the keys and
// values of all heads from the latent rows first (ExpandHeads) and to attend to the result (AttendHeads):
// from 155 rows on for DeepSeek-V2-Lite and Youtu-LLM, from 330 for GLM-4.7-Flash. Expanded heads lie in
// SpaceHeads, one memory for all layers. It has one page for each page of the caches, so the same block
// tables address both. The depth of a context is unknown when a replay is recorded. So a fixed number of
// threadgroups loops over the pages of the block tables, and ExpandHeads and AttendHeads stop at the last row
// of the context.
//
// # Types of the cache
//
// A row of the latent cache holds floats, halves or blocks of Q8_0 (CacheTypes). A kernel has variants for
// the cache's type as it has for the types of weights. Planes is the layout of a page;
// templates/msl/lib/cache.metal has the code by which kernels read and write it. Copies of pages and files of
// pages move the rows of whole planes, so they need not know the type.
package plan

import (
	"math"
	"slices"

	"mla/runtime/gguf/hparams"
	"mla/runtime/quant"
)

// Bundle is everything that mlagen compiled for one model.
type Bundle struct {
	Name     string // stem of the spec file, then "f16" for activations of halves, then Class
	Spec     string // base name of the spec file
	SpecHash string // sha256 of the spec with its tuning in one text, hexadecimal
	Class    string // one of Classes: the devices whose kernel shapes these are; "": shapes for any device
	Model    Model

	Activations Elem     // element type of ElemAct buffers
	Weights     []Weight // the weight table; Operand.Index of SpaceWeight points here
	Profiles    []Profile
	RopeFreqs   []float64 // angle per position of each rotated pair, radians; len = QKRopeHeadDim/2
	RopeMScale  float64   // factor on cos and sin
	Kernels     []Kernel
	Joined      []Weight   // of an MTP layer: the weights from which the host computes its Input, see JoinedEmbedding
	Sequences   []Sequence // by rising Width; the first has one row
	MaxBatch    int        // the most rows of a batch if not DefaultBatch, and then the width of a sequence; see BatchRows
	Pick        []Dispatch // dispatches after a sequence that pick tokens by its logits
	PickBytes   int64      // size of SpacePick, see PickLayout
	Counters    int64      // size of SpaceCounters; 0: no kernel draws tickets
	Source      string     // Metal source, shared by all bundles of the spec for Class; see Metal
	SourceHash  string     // stands in for Source where no device needs its text; see SourceSum
}

// Model is what a GGUF file must have to fit a bundle. The names are those of
// the Hugging Face configuration.
type Model struct {
	Architecture string // general.architecture
	Dims
	Rope                    Rope
	Temperature             Temperature
	MoE                     MoE
	Hybrid                  *Hybrid // nil: all layers have multi-head latent attention
	Tokenizer, ChatTemplate string
	NextN                   int // the number in files of the MTP layer that this bundle computes; 0: the bundle is a whole model
}

// Rope says how rotary angles are made; see gen/pass for the YaRN formula.
type Rope struct {
	Theta           float64
	Yarn            bool
	Factor          float64 // 1 without scaling
	OriginalContext int
	MScaleAllDim    float64 // 0: absent
	AttnFactor      float64 // 1 by default
}

// Temperature scales queries by their position (Scale · ln(1 + ⌊pos/Length⌋) + 1); with Scale 0 it scales
// none.
type Temperature struct {
	Scale  float64
	Length int // positions that share one temperature
}

// At is the factor on the scores of the query at a position.
func (t Temperature) At(pos int) float64 {
	if t.Scale == 0 {
		return 1
	}
	return 1 + t.Scale*math.Log(float64(pos/t.Length+1))
}

// Dims, MoE and Hybrid are the hyper-parameters that specs and GGUF files share with bundles.
type (
	Dims   = hparams.Dims
	MoE    = hparams.MoE
	Hybrid = hparams.Hybrid

	LinearAttention = hparams.LinearAttention
	HybridExperts   = hparams.HybridExperts
)

// DenseLayers is the number of leading layers with a dense feed-forward part.
func (m *Model) DenseLayers() int {
	if m.MoE.NRoutedExperts == 0 {
		return m.NumHiddenLayers
	}
	return m.MoE.FirstKDenseReplace
}

// CacheDim is the width of one latent cache row: kv_lora_rank + qk_rope_head_dim.
func (m *Model) CacheDim() int { return m.KVLoraRank + m.QKRopeHeadDim }

// QHeadDim is the width of one query head: qk_nope_head_dim + qk_rope_head_dim.
func (m *Model) QHeadDim() int { return m.QKNopeHeadDim + m.QKRopeHeadDim }

// Weight is one row of the weight table: a role in the model, for a run of layers.
type Weight struct {
	Role  string // Hugging Face name, e.g. "self_attn.q_a_proj"
	GGUF  string // GGUF tensor name; "%d" stands for the layer
	Alt   string // GGUF name of the fused tensor that this row may come from: attn_kv_b or ffn_gate_up_exps; "": none
	Cols  int    // input dimension (contiguous, ne[0])
	Rows  int    // output dimension (ne[1]); 1 for vectors
	Batch int    // heads or experts (ne[2]); 1 otherwise
	// Layers [First, Last) carry this weight; First == -1: it belongs to no layer.
	First, Last int
	Among       []int  // the layers in [First, Last) that have this weight, rising; nil: all of them
	Kernel      string // name of the kernel that reads it
	// The rotated pairs of a head's last RotaryRows rows (of HeadRows) are neighbours for kernels: rows (0,
	// n/2), (1, n/2 + 1), … of the file. The file keeps the two halves apart. 0: the order of the file.
	HeadRows, RotaryRows int
	Scale                float64 // kernels read a vector times this factor; 0: as in the file
	Types                []quant.Type
}

// Profile is a named assignment of quant types: Types[i] belongs to Weights[i]
// and has one entry per layer, or a single one that holds for every layer.
type Profile struct {
	Name  string
	Types [][]quant.Type
}

// Layers is how many tensors the row stands for: one for each layer that has it.
func (w *Weight) Layers() int {
	switch {
	case w.First < 0:
		return 1
	case w.Among != nil:
		return len(w.Among)
	}
	return w.Last - w.First
}

// Layer is the number of the l-th layer that has the row; -1: the row belongs to no layer.
func (w *Weight) Layer(l int) int {
	switch {
	case w.First < 0:
		return -1
	case w.Among != nil:
		return w.Among[l]
	}
	return w.First + l
}

// Index is the inverse of Layer: the place of a layer among those that have the row, 0 where the row belongs
// to no layer. -1: the layer does not have the row.
func (w *Weight) Index(layer int) int {
	switch {
	case w.First < 0:
		return 0
	case layer < w.First || layer >= w.Last:
		return -1
	case w.Among != nil:
		return slices.Index(w.Among, layer)
	}
	return layer - w.First
}

// At is the type of weight row i in the l-th layer that has it.
func (p *Profile) At(i, l int) quant.Type {
	if t := p.Types[i]; len(t) > 1 {
		return t[l]
	}
	return p.Types[i][0]
}

// Elem is the element type of a buffer.
type Elem uint8

// The element types. ElemTyped differs per variant; ElemAct is Bundle.Activations.
const (
	ElemF32 Elem = iota
	ElemF16
	ElemAct
	ElemTyped
	ElemRoute // Routing
	ElemRow   // Row
	ElemArgs  // Kernel.Constants little-endian uint64
	ElemU32
	ElemCounter // an atomic uint32
	ElemPick    // Pick
	ElemAdjust  // Adjust
)

// ActNames are what specs, flags and messages call the types that Bundle.Activations
// can be.
var ActNames = []string{ElemF32: "f32", ElemF16: "f16"}

// Act is the name of the bundle's activations.
func (b *Bundle) Act() string { return ActNames[b.Activations] }

// Row is one token of a session, as every kernel reads it (16 bytes).
type Row struct {
	Token, Pos uint32 // the token at this position
	NKV        uint32 // cache rows that it attends to: Pos+1; 0: a dead row, which stores nothing
	Table      uint32 // the block table of its session, see SpaceTables
}

// Routing is one selected expert of a token and its weight (8 bytes).
type Routing struct {
	Expert uint32
	Weight float32
}

// Space says which memory an operand lives in.
type Space uint8

// The spaces.
const (
	SpaceWeight   Space = iota // Weights[Index] of the dispatch's layer
	SpaceArena                 // the activation arena, at Offset
	SpaceKV                    // latent cache of layer Index: [pages][PageRows][CacheDim], see Planes
	SpaceRope                  // [n_ctx][QKRopeHeadDim/2][2] float32 (cos, sin)
	SpaceRow                   // [Width]Row
	SpaceTables                // block tables: [tables][MaxPages]uint32, the page of each PageRows positions
	SpaceLogits                // [BatchRows][VocabSize] float32: the logits of the wanted rows
	SpaceArgs                  // the dispatch's constants, see Kernel.Constants
	SpaceCounters              // the tickets of persistent threadgroups, at Offset; see Experts.Tickets
	SpaceWanted                // [BatchRows]Row: the rows whose logits are wanted; Token is the row's place in SpaceRow
	SpacePick                  // parameters and results of the kernels that pick tokens, at Offset; see PickLayout
	SpaceHeads                 // expanded keys and values of the current layer: [pages], see HeadsPage
	SpaceState                 // [slots], states of linear attention: the part of layer Index in each slot, see State
)

// Operand binds one slot of a kernel for one dispatch.
type Operand struct {
	Space         Space
	Index         int   // weight row, or layer of a cache or a state
	Ahead         int   // of a weight: its layer minus the dispatch's layer
	Offset, Bytes int64 // byte range in the arena, the memory of picks or the counters (Bytes is 0 elsewhere)
}

// Dispatch is one kernel launch of the sequence.
type Dispatch struct {
	Kernel   int       // index into Bundle.Kernels
	Layer    int       // -1 outside the layers
	Barrier  bool      // wait for all earlier dispatches first
	Operands []Operand // one per Kernel.Slots
}

// LayerOf is the layer of the weight that is bound to a slot of d.
func (d *Dispatch) LayerOf(slot int) int { return d.Layer + d.Operands[slot].Ahead }

// Kernel is one fused kernel: parts that run side by side in one dispatch,
// each on its own threadgroups.
type Kernel struct {
	Name     string
	Doc      string
	Threads  int // threads per threadgroup, a multiple of 32
	Width    int // rows that it computes at once; 0: one row
	Slots    []Slot
	Args     []int // slots whose batch stride in rows is passed, in this order, as uint64; see Constants
	Parts    []Part
	Variants []Variant
	// Class is the kernel class whose devices run this kernel in place of Kernels[Instead], which has the
	// same slots, parts and types. "": the kernel is for all devices without such a replacement.
	Class   string
	Instead int
}

// KernelFor is the kernel that devices of a kernel class run for Kernels[i].
func (b *Bundle) KernelFor(i int, class string) *Kernel {
	if class != "" {
		for j := range b.Kernels {
			if k := &b.Kernels[j]; k.Class == class && k.Instead == i {
				return k
			}
		}
	}
	return &b.Kernels[i]
}

// Functions lists the functions of all variants. The Metal source may contain further ones.
func (b *Bundle) Functions() []string {
	var list []string
	for i := range b.Kernels {
		for _, v := range b.Kernels[i].Variants {
			list = append(list, v.Func)
		}
	}
	return list
}

// Slot is one kernel argument; its index is the [[buffer(n)]] index.
type Slot struct {
	Name  string
	Space Space
	Elem  Elem
	Write bool
	// Stride is the distance between the elements of two rows in a kernel with a Width, a multiple of
	// StrideAlign; 0: all rows read the same elements.
	Stride int
}

// Variant is one instantiation of a kernel: Types[i] is the type of the i-th slot whose Elem is ElemTyped (a
// weight, or the cache with one of CacheTypes).
type Variant struct {
	Func  string // MSL function
	Types []quant.Type
}

// Groups is the number of threadgroups of the whole kernel.
func (k *Kernel) Groups() int {
	n := 0
	for _, p := range k.Parts {
		n += k.GroupsOf(p)
	}
	return n
}

// Constants is the number of uint64 in the kernel's slot of SpaceArgs: the strides of Args, then the number
// of splits if it depends on the GPU's cores.
func (k *Kernel) Constants() int {
	n := len(k.Args)
	if k.PerCore() != nil {
		n++
	}
	return n
}

// TypedSlots lists the slots that a variant's types belong to.
func (k *Kernel) TypedSlots() []int {
	var s []int
	for i, sl := range k.Slots {
		if sl.Elem == ElemTyped {
			s = append(s, i)
		}
	}
	return s
}
