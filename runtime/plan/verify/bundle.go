package verify

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Limits on a bundle. They are far above any model's, and the product of three of them fits an int64.
const (
	maxDimension  = 1 << 20
	maxLayers     = 1 << 12
	maxContext    = 1 << 24
	MaxSplits     = 1 << 12 // also the largest value that a plan may have for the fewest cache rows of a split
	maxMemory     = 1 << 32 // bytes of an arena
	maxGroups     = 1 << 24 // threadgroups of a dispatch
	maxDispatches = 1 << 16
	maxRows       = 1 << 10 // of tables: weights, kernels, profiles
	maxVariants   = 1 << 12
	maxText       = 256 // bytes of a name
	arenaAlign    = 16  // alignment of the widest load of any kernel
	memoryAlign   = 256 // alignment of memory that is bound with an offset
)

// Bundle says what is wrong with a bundle; nil: nothing.
func Bundle(b *plan.Bundle) error {
	for _, check := range []func(*plan.Bundle) error{checkNames, checkModel, checkJoined, checkTables, checkKernels, checkSequences} {
		if err := check(b); err != nil {
			return fmt.Errorf("bundle %.64q: %w", b.Name, err)
		}
	}
	return nil
}

func checkNames(b *plan.Bundle) error {
	m := &b.Model
	for _, text := range []string{b.Spec, b.SpecHash, m.Architecture, m.Tokenizer, m.ChatTemplate, m.MoE.ScoringFunc} {
		if len(text) > maxText {
			return fmt.Errorf("a name of %d bytes", len(text))
		}
	}
	switch {
	case !isIdentifier(b.Name):
		return fmt.Errorf("the name is no identifier")
	case b.Class != "" && !slices.Contains(plan.Classes, b.Class):
		return fmt.Errorf("devices of class %.32q", b.Class)
	case b.Activations != plan.ElemF32 && b.Activations != plan.ElemF16:
		return fmt.Errorf("activations of type %d", b.Activations)
	}
	return nil
}

// checkModel checks the dimensions from which sizes follow against their limits.
func checkModel(b *plan.Bundle) error {
	m := &b.Model
	for _, d := range []struct {
		name        string
		n, low, top int
	}{
		{"vocab_size", m.VocabSize, 1, maxContext},
		{"hidden_size", m.HiddenSize, 1, maxDimension},
		{"num_hidden_layers", m.NumHiddenLayers, 1, maxLayers},
		{"num_attention_heads", m.NumAttentionHeads, 1, MaxSplits},
		{"q_lora_rank", m.QLoraRank, 0, maxDimension},
		{"kv_lora_rank", m.KVLoraRank, 1, maxDimension},
		{"qk_nope_head_dim", m.QKNopeHeadDim, 1, maxDimension},
		{"qk_rope_head_dim", m.QKRopeHeadDim, 2, maxDimension},
		{"v_head_dim", m.VHeadDim, 1, maxDimension},
		{"intermediate_size", m.IntermediateSize, 0, maxDimension},
		{"max_position_embeddings", m.MaxPositionEmbeddings, 1, maxContext},
		{"n_routed_experts", m.MoE.NRoutedExperts, 0, maxDimension},
		{"num_experts_per_tok", m.MoE.NumExpertsPerTok, 0, maxDimension},
		{"moe_intermediate_size", m.MoE.MoEIntermediateSize, 0, maxDimension},
		{"first_k_dense_replace", m.MoE.FirstKDenseReplace, 0, m.NumHiddenLayers},
		{"temperature.length", m.Temperature.Length, min(1, int(math.Ceil(math.Abs(m.Temperature.Scale)))), maxContext},
	} {
		if d.n < d.low || d.n > d.top {
			return fmt.Errorf("%s is %d; expected %d to %d", d.name, d.n, d.low, d.top)
		}
	}
	if err := checkHybrid(m); err != nil {
		return err
	}
	if len(b.RopeFreqs)*2 != m.QKRopeHeadDim {
		return fmt.Errorf("%d rotary frequencies for %d dimensions", len(b.RopeFreqs), m.QKRopeHeadDim)
	}
	if least, most := min(b.Counters, b.PickBytes), max(b.Counters, b.PickBytes); least < 0 || most > maxMemory {
		return fmt.Errorf("%d bytes of counters, %d to pick tokens", b.Counters, b.PickBytes)
	}
	return nil
}

// checkTables checks weights and profiles.
func checkTables(b *plan.Bundle) error {
	if n := max(len(b.Weights), len(b.Profiles)); n > maxRows {
		return fmt.Errorf("a table of %d rows", n)
	}
	for i := range b.Weights {
		if err := checkWeight(&b.Weights[i], b.Model.NumHiddenLayers); err != nil {
			return fmt.Errorf("weight %d: %w", i, err)
		}
	}
	for i := range b.Profiles {
		if err := checkProfile(&b.Profiles[i], b.Weights); err != nil {
			return fmt.Errorf("profile %d: %w", i, err)
		}
	}
	return nil
}

func checkWeight(w *plan.Weight, layers int) error {
	for _, text := range []string{w.Role, w.GGUF, w.Alt, w.Kernel} {
		if len(text) > maxText {
			return fmt.Errorf("a name of %d bytes", len(text))
		}
	}
	if err := checkTypes(w.Types); err != nil {
		return err
	}
	inLayers := w.First >= 0 && w.First < w.Last && w.Last <= layers
	switch {
	case w.Cols < 1 || w.Rows < 1 || w.Batch < 1 || max(w.Cols, w.Batch) > maxDimension || w.Rows > maxContext:
		return fmt.Errorf("%d × %d × %d", w.Cols, w.Rows, w.Batch)
	case w.First != -1 && !inLayers:
		return fmt.Errorf("of layers %d to %d of %d", w.First, w.Last, layers)
	case w.Among != nil && (!inLayers || !rising(w.Among, w.First, w.Last)):
		return fmt.Errorf("of %d layers among %d to %d; expected some, rising", len(w.Among), w.First, w.Last)
	case w.RotaryRows < 0 || w.RotaryRows%2 != 0 || w.RotaryRows > w.HeadRows || w.RotaryRows > 0 && w.Rows%w.HeadRows != 0:
		return fmt.Errorf("%d of %d rows rotate, of %d", w.RotaryRows, w.HeadRows, w.Rows)
	case w.Scale != 0 && !slices.Equal(w.Types, []quant.Type{quant.F32}):
		return fmt.Errorf("a factor on %v", w.Types)
	}
	return nil
}

// rising says whether list is not empty, strictly rising, and within [first, end).
func rising(list []int, first, end int) bool {
	for _, n := range list {
		if n < first || n >= end {
			return false
		}
		first = n + 1
	}
	return len(list) > 0
}

// checkTypes fails for unknown types.
func checkTypes(types []quant.Type) error {
	for _, t := range types {
		if _, ok := quant.Lookup(t); !ok {
			return fmt.Errorf("unknown %s", t)
		}
	}
	return nil
}

func checkProfile(p *plan.Profile, weights []plan.Weight) error {
	if len(p.Name) > maxText || len(p.Types) != len(weights) {
		return fmt.Errorf("%d rows of types for %d weights", len(p.Types), len(weights))
	}
	for i, types := range p.Types {
		layers := weights[i].Layers()
		if len(types) != 1 && len(types) != layers {
			return fmt.Errorf("%d types of weight %d, which %d layers have", len(types), i, layers)
		}
		if err := checkTypes(types); err != nil {
			return err
		}
	}
	return nil
}

// checkKernels checks each kernel by itself, and against the kernel that it replaces.
func checkKernels(b *plan.Bundle) error {
	if len(b.Kernels) > maxRows {
		return fmt.Errorf("%d kernels", len(b.Kernels))
	}
	functions := map[string]bool{}
	for i := range b.Kernels {
		k := &b.Kernels[i]
		if err := checkKernel(b, k); err != nil {
			return fmt.Errorf("kernel %.64q: %w", k.Name, err)
		}
		for _, v := range k.Variants {
			if functions[v.Func] {
				return fmt.Errorf("two variants are %s", v.Func)
			}
			functions[v.Func] = true
		}
	}
	return nil
}

func checkKernel(b *plan.Bundle, k *plan.Kernel) error {
	if len(k.Variants) > maxVariants {
		return fmt.Errorf("%d variants", len(k.Variants))
	}
	if err := Kernel(k); err != nil {
		return err
	}
	for _, p := range k.Parts {
		if n := k.GroupsOf(p); n < 1 || n > maxGroups {
			return fmt.Errorf("%T: %d threadgroups; expected 1 to %d", p, n, maxGroups)
		}
	}
	for i := range k.Slots {
		if err := checkSlot(&k.Slots[i]); err != nil {
			return fmt.Errorf("slot %s: %w", k.Slots[i].Name, err)
		}
	}
	if k.Class == "" {
		return nil
	}
	if k.Instead < 0 || k.Instead >= len(b.Kernels) || b.Kernels[k.Instead].Class != "" {
		return fmt.Errorf("in place of kernel %d of %d, or of one of a class", k.Instead, len(b.Kernels))
	}
	if !alike(k, &b.Kernels[k.Instead]) {
		return fmt.Errorf("other slots or parts than those of kernel %d", k.Instead)
	}
	return nil
}

// alike says whether two kernels do the same with the same slots, whatever their shapes.
func alike(a, b *plan.Kernel) bool {
	return a.Width == b.Width && slices.Equal(a.Slots, b.Slots) && slices.Equal(a.Args, b.Args) &&
		slices.EqualFunc(a.Parts, b.Parts, func(x, y plan.Part) bool {
			return reflect.TypeOf(x) == reflect.TypeOf(y) && slices.Equal(indexUses(x), indexUses(y))
		})
}

// elems is the element types that a slot of each space may have.
var elems = map[plan.Space][]plan.Elem{
	plan.SpaceWeight:   {plan.ElemTyped, plan.ElemF32, plan.ElemF16},
	plan.SpaceArena:    {plan.ElemF32, plan.ElemF16, plan.ElemAct, plan.ElemRoute, plan.ElemU32},
	plan.SpaceKV:       {plan.ElemTyped},
	plan.SpaceRope:     {plan.ElemF32},
	plan.SpaceRow:      {plan.ElemRow},
	plan.SpaceTables:   {plan.ElemU32},
	plan.SpaceLogits:   {plan.ElemF32},
	plan.SpaceArgs:     {plan.ElemArgs},
	plan.SpaceCounters: {plan.ElemCounter},
	plan.SpaceWanted:   {plan.ElemRow},
	plan.SpaceHeads:    {plan.ElemAct},
	plan.SpaceState:    {plan.ElemF32},
	plan.SpacePick:     {plan.ElemF32, plan.ElemU32, plan.ElemPick, plan.ElemAdjust},
}

// constant lists the spaces that no kernel writes.
var constant = []plan.Space{plan.SpaceWeight, plan.SpaceRope, plan.SpaceTables, plan.SpaceArgs, plan.SpaceWanted}

func checkSlot(s *plan.Slot) error {
	switch {
	case !slices.Contains(elems[s.Space], s.Elem):
		return fmt.Errorf("elements of type %d in space %d", s.Elem, s.Space)
	case s.Write && slices.Contains(constant, s.Space):
		return fmt.Errorf("written, in space %d", s.Space)
	case s.Stride > 0 && s.Space != plan.SpaceArena && s.Space != plan.SpaceLogits || s.Stride > maxContext:
		return fmt.Errorf("vectors %d apart in space %d", s.Stride, s.Space)
	}
	return nil
}
