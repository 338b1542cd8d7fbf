package kernel

import (
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Variants adds the variants of all kernels: one for each combination of types that occurs in a profile of
// the bundle, not for every possible combination.
func Variants(b *plan.Bundle) {
	seen := make([]map[string]bool, len(b.Kernels))
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	for _, d := range dispatches(b) {
		k := &b.Kernels[d.Kernel]
		for pi := range b.Profiles {
			for _, kv := range b.Model.CacheTypes() {
				types := dispatchTypes(b, &d, &b.Profiles[pi], kv)
				name := plan.VariantName(k.Name, types)
				if !seen[d.Kernel][name] {
					seen[d.Kernel][name] = true
					k.Variants = append(k.Variants, plan.Variant{Func: name, Types: types})
				}
			}
		}
	}
	for i := range b.Kernels {
		slices.SortFunc(b.Kernels[i].Variants, func(a, b plan.Variant) int { return slices.Compare(a.Types, b.Types) })
	}
	weightTypes(b)
}

// dispatches lists the dispatches of all sequences and of the sampler.
func dispatches(b *plan.Bundle) []plan.Dispatch {
	var all []plan.Dispatch
	for _, q := range b.Sequences {
		all = append(all, q.Dispatches...)
	}
	return slices.Concat(all, b.Pick)
}

// dispatchTypes returns the types of a dispatch's typed slots under a profile, with a KV cache of type kv.
func dispatchTypes(b *plan.Bundle, d *plan.Dispatch, p *plan.Profile, kv quant.Type) []quant.Type {
	var types []quant.Type
	for _, slot := range b.Kernels[d.Kernel].TypedSlots() {
		o := d.Operands[slot]
		if o.Space == plan.SpaceKV {
			types = append(types, kv)
			continue
		}
		types = append(types, p.At(o.Index, b.Weights[o.Index].Index(d.LayerOf(slot))))
	}
	return types
}

// weightTypes sets which types each weight may have, and the kernel that reads it when one token is decoded.
func weightTypes(b *plan.Bundle) {
	for i := range b.Weights {
		w := &b.Weights[i]
		w.Types = nil
		for _, p := range b.Profiles {
			w.Types = append(w.Types, p.Types[i]...)
		}
		slices.Sort(w.Types)
		w.Types = slices.Compact(w.Types)
	}
	for _, d := range b.Decode().Dispatches {
		for _, o := range d.Operands {
			if o.Space == plan.SpaceWeight && b.Weights[o.Index].Kernel == "" {
				b.Weights[o.Index].Kernel = b.Kernels[d.Kernel].Name
			}
		}
	}
}
