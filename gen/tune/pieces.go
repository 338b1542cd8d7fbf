package tune

import (
	"fmt"
	"slices"

	"mla/gen/msl"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// pieceHeader is the first line of a piece's source. It is the same for all specs, because compiled pieces
// are cached by the hash of their source.
const pieceHeader = "// One kernel, to be measured by mlagen tune. DO NOT EDIT."

// Pieces splits a bundle into bundles of one kernel each, with sources of their own. They have only the
// variants for a cache of type kv. The sampler is left out.
func Pieces(b *plan.Bundle, kv quant.Type) ([]*plan.Bundle, error) {
	var pieces []*plan.Bundle
	for i := range b.Kernels {
		if !slices.ContainsFunc(b.Decode().Dispatches, func(d plan.Dispatch) bool { return d.Kernel == i }) {
			continue
		}
		k := b.Kernels[i]
		k.Variants = withCache(&k, kv)
		piece := &plan.Bundle{Name: b.Name, Activations: b.Activations, Kernels: []plan.Kernel{k}}
		source, err := msl.Print(piece, pieceHeader)
		if err != nil {
			return nil, fmt.Errorf("kernel %s alone: %w", k.Name, err)
		}
		piece.Source = source
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

// withCache returns the variants of a kernel for a cache of type kv.
func withCache(k *plan.Kernel, kv quant.Type) []plan.Variant {
	var variants []plan.Variant
	slots := k.TypedSlots()
	for _, v := range k.Variants {
		other := false
		for i, slot := range slots {
			other = other || k.Slots[slot].Space == plan.SpaceKV && v.Types[i] != kv
		}
		if !other {
			variants = append(variants, v)
		}
	}
	return variants
}
