// Package pass has the compiler's passes, in one ordered list. Each fusion is a pass of its own that can be
// switched off. No pass changes what a program computes: tests interpret the program after every pass.
package pass

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/ir"
)

// Pass rewrites a program.
type Pass struct {
	Name     string
	Doc      string
	After    []Reason // passes that must have run, and why
	Required bool     // no kernel exists for programs without it
	Rows     Rows     // the programs that it is for
	Run      func(p *ir.Program) error
}

// Rows says which programs a pass is for.
type Rows uint8

// The values of Rows: by the number of rows of a program, or by a choice of package target.
const (
	AnyRows        Rows = iota
	OneRow              // one row
	ManyRows            // two rows and more
	BatchRows           // two rows and more, up to the rows of a batch
	FewRows             // up to the rows of a batch, one row included
	Absorbed            // attention to latent rows
	Expanded            // attention to expanded heads, see target.Target.Expands
	Chunked             // linear attention by chunks, see target.Target.DeltaChunks
	CombinesApart       // each row combines its own splits of attention, see target.Target.CombinesApart
	ExpertsApart        // each row runs its own experts, see target.Target.ExpertsApart
	ExpertsBatched      // an expert runs for all rows that have selected it
)

// has reports whether p is one of these programs.
func (r Rows) has(p *ir.Program) bool {
	width := p.Width
	switch r {
	case Absorbed:
		return !p.Expands()
	case Expanded:
		return p.Expands()
	case Chunked:
		return p.Chunks()
	case CombinesApart:
		return p.Target().CombinesApart(width)
	case ExpertsApart:
		return p.Target().ExpertsApart(width)
	case ExpertsBatched:
		return !p.Target().ExpertsApart(width)
	case OneRow:
		return width <= 1
	case ManyRows:
		return width > 1
	case BatchRows:
		return width > 1 && p.Batch()
	case FewRows:
		return p.Batch()
	}
	return true
}

// Reason says why a pass must run after another.
type Reason struct{ Pass, Why string }

// Pipeline lists the passes in the order in which they run.
var Pipeline = []Pass{
	{Name: "fold_scales", Required: true, Run: foldScales,
		Doc: "fold the factors of the residual stream into the embedding and the norms, and rotate halves as pairs"},
	{Name: "bake_rope", Required: true, Run: bakeRope,
		Doc: "compute the rotary frequencies (with YaRN) and the attention scale once, as constants"},
	{Name: "expand_heads", Required: true, Run: expandHeads, Rows: Expanded,
		Doc:   "where many queries share them, keys and values of all heads are made in one launch of the layer, in memory that the layers share",
		After: []Reason{{"bake_rope", "attention needs its scale"}}},
	{Name: "absorb", Required: true, Run: absorb, Rows: Absorbed,
		Doc:   "move W_UK to the query and W_UV after the softmax, so that attention reads only latent rows",
		After: []Reason{{"bake_rope", "it copies the attention's scale"}}},
	{Name: "split_kv", Required: true, Run: splitKV, Rows: Absorbed,
		Doc:   "cut attention along the KV axis, with an exact combine",
		After: []Reason{{"absorb", "only latent attention is split"}}},
	{Name: "group_gating", Required: true, Run: groupGating,
		Doc: "scores, top-k and routing weights are one part"},
	{Name: "fuse_swiglu", Run: fuseSwiGLU,
		Doc: "gate and up share one dispatch and multiply in registers"},
	{Name: "fuse_squared_relu", Required: true, Run: fuseSquaredReLU,
		Doc: "the activation is the end of the mat-vec before it"},
	{Name: "chunk_delta", Required: true, Run: chunkDelta, Rows: Chunked,
		Doc: "what rows of a prompt are to each other is made for all chunks of them side by side, so that a state moves on by chunks"},
	{Name: "fuse_linear", Required: true, Run: fuseLinear,
		Doc:   "a head of linear attention convolves, makes its gates, moves its state on and normalises in one threadgroup",
		After: []Reason{{"chunk_delta", "it joins what makes chunks"}}},
	{Name: "fuse_low_rank", Run: fuseLowRank, Rows: OneRow,
		Doc:   "that threadgroup multiplies by its rows of the gates' second halves",
		After: []Reason{{"fuse_linear", "it joins that part"}}},
	{Name: "fuse_head_gates", Run: fuseHeadGates, Rows: Absorbed,
		Doc:   "the value projection of each head applies its gate",
		After: []Reason{{"absorb", "it makes that projection"}}},
	{Name: "fuse_store_kv", Run: fuseStoreKV,
		Doc: "the latent norm and the key's rope happen while the cache row is written"},
	{Name: "fuse_rope", Run: fuseRope,
		Doc: "the query is rotated by the mat-vec that makes it"},
	{Name: "fuse_combine", Run: fuseCombine, Rows: CombinesApart,
		Doc:   "each head's value projection combines the attention splits itself",
		After: []Reason{{"split_kv", "it makes the combine"}}},
	{Name: "group_experts", Required: true, Run: groupExperts, Rows: ExpertsBatched,
		Doc:   "what all rows have selected is listed by expert, whose weights are then read once for its rows",
		After: []Reason{{"group_gating", "what routes is one part"}}},
	{Name: "fuse_group_experts", Run: fuseGroupExperts, Rows: BatchRows,
		Doc:   "one threadgroup routes the few rows of a batch and groups what they select: one dispatch less",
		After: []Reason{{"group_experts", "it makes the launch that is fused"}}},
	{Name: "fuse_gating", Run: fuseGating, Rows: ExpertsApart,
		Doc: "every threadgroup of the routed gate/up recomputes top-k from the logits: no dispatch of its own",
		After: []Reason{{"group_gating", "gating moves as a whole"},
			{"fuse_swiglu", "so that gate and up recompute it once"}}},
	{Name: "fuse_experts_sum", Run: fuseExpertsSum, Rows: ExpertsApart,
		Doc: "the routed down projection adds up the experts with their weights"},
	{Name: "fuse_shared_down", Run: fuseSharedDown, Rows: ExpertsApart,
		Doc:   "the shared experts' down projection joins the routed one",
		After: []Reason{{"fuse_experts_sum", "it joins the sum over the experts"}}},
	{Name: "fuse_add_shared", Run: fuseAddShared, Rows: ManyRows,
		Doc:   "the sum over the experts adds the shared ones",
		After: []Reason{{"fuse_shared_down", "where that joins both, no add is left"}}},
	{Name: "fuse_residual", Run: fuseResidual,
		Doc: "residual adds are epilogues of the projection before them",
		After: []Reason{{"fuse_experts_sum", "the sum is one of those projections"},
			{"fuse_shared_down", "the residual comes after the shared expert"},
			{"fuse_add_shared", "the same, of several rows"}}},
	{Name: "fuse_norm", Run: fuseNorm, Rows: OneRow,
		Doc: "norms are recomputed by every consumer: no stand-alone norm dispatch",
		After: []Reason{{"fuse_swiglu", "gate and up take one norm together"},
			{"fuse_gating", "the norm is the first prologue"},
			{"fuse_store_kv", "the latent norm belongs to the cache write"}}},
	{Name: "merge_qkv_a", Run: mergeQKVA,
		Doc:   "the query's and the latent's down projections run side by side",
		After: []Reason{{"fuse_norm", "a shared norm dispatch would lie between them"}}},
	{Name: "merge_head_gate", Run: mergeHeadGate,
		Doc:   "the gates of heads are made beside them",
		After: []Reason{{"merge_qkv_a", "the order of parts is that of the projections"}}},
	{Name: "merge_linear", Run: mergeLinear,
		Doc: "the projections of linear attention run side by side",
		After: []Reason{{"fuse_norm", "a shared norm dispatch would lie between them"},
			{"fuse_linear", "what reads them is after all of them"}}},
	{Name: "merge_store_kv", Run: mergeStoreKV, Rows: FewRows,
		Doc:   "the cache row is written beside the query's next mat-vec",
		After: []Reason{{"merge_qkv_a", "the neighbours are known then"}}},
	{Name: "merge_shared", Run: mergeShared,
		Doc:   "the shared experts' gate/up runs beside the router",
		After: []Reason{{"fuse_norm", "both must read the residual itself"}}},
	{Name: "merge_shared_down", Run: mergeSharedDown, Rows: ExpertsBatched,
		Doc:   "the shared experts' down projection of a batch runs beside what routes it: one dispatch less",
		After: []Reason{{"fuse_add_shared", "the sum over the experts adds what it makes"}, {"merge_shared", "its input is made beside the router"}}},
	{Name: "norm_partial", Run: normPartial,
		Doc: "what makes a norm's input applies its weight and sums the squares; consumers only scale their results",
		After: []Reason{{"fuse_norm", "the norms stand in the parts that read them"},
			{"fuse_residual", "the part that adds the residual makes the norm's input"},
			{"merge_shared", "how many rows a simdgroup makes is a matter of the whole kernel"}}},
	{Name: "buffers", Required: true, Run: buffers,
		Doc: "place activations in one arena and reuse what is dead",
		After: []Reason{{"merge_shared", "liveness is counted in dispatches"},
			{"norm_partial", "it makes values"}}},
	{Name: "barriers", Required: true, Run: barriers,
		Doc:   "a barrier exactly where a byte range written since the last one is touched",
		After: []Reason{{"buffers", "reuse makes hazards"}}},
}

// Options changes how Compile runs.
type Options struct {
	Disable []string                               // passes left out
	Until   string                                 // stop after this pass; "" runs all, "lower" none
	Observe func(pass string, p *ir.Program) error // called after every pass; an error stops
}

// Compile runs the pipeline over p in place, and verifies p after every pass. It fails if o names an unknown
// pass or disables a required one, or if a pass fails.
func Compile(p *ir.Program, o Options) error {
	if err := checkOptions(o); err != nil {
		return err
	}
	if err := o.after("lower", p); err != nil || o.Until == "lower" {
		return err
	}
	for _, ps := range Pipeline {
		if slices.Contains(o.Disable, ps.Name) || !ps.Rows.has(p) {
			continue
		}
		if err := ps.Run(p); err != nil {
			return fmt.Errorf("pass %s: %w", ps.Name, err)
		}
		if err := o.after(ps.Name, p); err != nil {
			return fmt.Errorf("after pass %s: %w", ps.Name, err)
		}
		if ps.Name == o.Until {
			return nil
		}
	}
	return nil
}

// after verifies p after a pass, and calls Observe.
func (o Options) after(name string, p *ir.Program) error {
	if err := ir.Verify(p); err != nil {
		return err
	}
	if o.Observe != nil {
		return o.Observe(name, p)
	}
	return nil
}

func checkOptions(o Options) error {
	for _, name := range o.Disable {
		ps, ok := find(name)
		if !ok {
			return fmt.Errorf("no pass is called %q; the passes are %s", name, strings.Join(Names(), ", "))
		}
		if ps.Required {
			return fmt.Errorf("pass %s cannot be switched off: %s", name, ps.Doc)
		}
	}
	if o.Until != "" && o.Until != "lower" {
		if _, ok := find(o.Until); !ok {
			return fmt.Errorf("no pass is called %q; the passes are lower, %s", o.Until, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Names lists the passes in order.
func Names() []string {
	var names []string
	for _, ps := range Pipeline {
		names = append(names, ps.Name)
	}
	return names
}

func find(name string) (Pass, bool) {
	for _, ps := range Pipeline {
		if ps.Name == name {
			return ps, true
		}
	}
	return Pass{}, false
}
