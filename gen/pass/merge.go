package pass

import (
	"slices"

	"mla/gen/ir"
)

// merger puts launches of one layer side by side. Parts move as they are, so who
// writes what stays true.
type merger struct {
	uses     *ir.Uses
	launches []*ir.Launch // of the layer, in order
}

// eachLayer calls f for every layer's launches; those that f empties go at the end.
func eachLayer(p *ir.Program, f func(m *merger)) error {
	m := merger{uses: ir.Analyze(p)}
	layers := make([][]*ir.Launch, p.Spec.Model.NumHiddenLayers)
	for _, s := range p.Launches {
		if s.Layer >= 0 {
			layers[s.Layer] = append(layers[s.Layer], s)
		}
	}
	for _, m.launches = range layers {
		f(&m)
	}
	sweep(p)
	return nil
}

// merge moves the parts of launch b into the earlier launch a if nothing from a up
// to b writes what they read. It reports whether it did. A layer without one of them
// (nil) has nothing to merge.
func (m *merger) merge(a, b *ir.Launch) bool {
	if a == nil || b == nil || a == b {
		return false
	}
	between := map[*ir.Part]bool{}
	for _, s := range m.launches[slices.Index(m.launches, a):slices.Index(m.launches, b)] {
		for _, part := range s.Parts {
			between[part] = true
		}
	}
	for _, part := range b.Parts {
		for _, op := range part.Ops {
			for _, r := range op.In {
				if w := m.uses.Writer(r.V); w != part && between[w] {
					return false
				}
			}
		}
	}
	a.Parts = append(a.Parts, b.Parts...)
	b.Parts = nil
	return true
}

// launch finds the layer's launch that carries an op of one of the names, or nil.
func (m *merger) launch(names ...string) *ir.Launch {
	for _, s := range m.launches {
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				if slices.Contains(names, op.Name) {
					return s
				}
			}
		}
	}
	return nil
}

func mergeQKVA(p *ir.Program) error {
	return eachLayer(p, func(m *merger) { m.merge(m.launch("q_a", "q"), m.launch("kv_a")) })
}

// mergeStoreKV puts the cache write beside the launch before it, or the launch
// after it beside the cache write.
func mergeStoreKV(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		store := m.launch("store_kv")
		if q := m.launch("q_b"); q != nil && m.merge(q, store) {
			return
		}
		if kb := m.launch("k_b"); kb != nil && kb != store { // none where heads are expanded
			m.merge(store, kb)
		}
	})
}

func mergeShared(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		router, shared := m.launch("router"), m.launch("shared_gate")
		if router != nil && shared != nil && router != shared {
			m.merge(router, shared)
		}
	})
}

// mergeSharedDown is for batches, whose experts leave no core idle, and what routes them all but one. Beside
// the experts' gate and up, where persistent threadgroups share the work, those that begin when the shared experts' have
// ended are late, and so is the end.
func mergeSharedDown(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		routed, routing, shared := m.launch("experts_gate", "experts_up"), m.launch("group_experts"), m.launch("shared_down")
		if routed != nil && routing != nil && shared != nil && p.BatchExperts(routed) {
			m.merge(routing, shared)
		}
	})
}
