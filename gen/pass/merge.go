package pass

import "mla/gen/ir"

// merge moves the parts of step b into the earlier step a if nothing from a up
// to b writes what they read.
func merge(p *ir.Program, a, b *ir.Step) bool {
	u := ir.Analyze(p)
	between := map[*ir.Part]bool{}
	inside := false
	for _, s := range p.Steps {
		if s == a {
			inside = true
		}
		if s == b {
			break
		}
		if inside {
			for _, part := range s.Parts {
				between[part] = true
			}
		}
	}
	for _, part := range b.Parts {
		for _, op := range part.Ops {
			for _, r := range op.In {
				if w := u.Writer(r.V); w != part && between[w] {
					return false
				}
			}
		}
	}
	a.Parts = append(a.Parts, b.Parts...)
	b.Parts = nil
	sweep(p)
	return true
}

// steps finds the steps of a layer that carry an op of that name.
func stepOf(p *ir.Program, layer int, names ...string) *ir.Step {
	for _, s := range p.Steps {
		if s.Layer != layer {
			continue
		}
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				if contains(names, op.Name) {
					return s
				}
			}
		}
	}
	return nil
}

func eachLayer(p *ir.Program, f func(layer int)) {
	for l := 0; l < p.Spec.Model.NumHiddenLayers; l++ {
		f(l)
	}
}

func mergeQKVA(p *ir.Program) error {
	eachLayer(p, func(l int) {
		merge(p, stepOf(p, l, "q_a", "q"), stepOf(p, l, "kv_a"))
	})
	return nil
}

// mergeStoreKV puts the cache write beside the step before it, or the step
// after it beside the cache write.
func mergeStoreKV(p *ir.Program) error {
	eachLayer(p, func(l int) {
		store := stepOf(p, l, "store_kv")
		if q := stepOf(p, l, "q_b"); q != nil && merge(p, q, store) {
			return
		}
		if kb := stepOf(p, l, "k_b"); kb != store {
			merge(p, store, kb)
		}
	})
	return nil
}

func mergeShared(p *ir.Program) error {
	eachLayer(p, func(l int) {
		router, shared := stepOf(p, l, "router"), stepOf(p, l, "shared_gate")
		if router != nil && shared != nil && router != shared {
			merge(p, router, shared)
		}
	})
	return nil
}
