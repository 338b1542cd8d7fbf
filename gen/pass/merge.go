package pass

import (
	"slices"

	"mla/gen/ir"
)

// merger puts launches of one layer side by side. Parts move unchanged, so uses stays valid.
type merger struct {
	uses     *ir.Uses
	launches []*ir.Launch // the launches of the layer, in order
}

// eachLayer calls f for the launches of every layer. Launches that f has emptied are removed at the end.
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

// merge moves the parts of launch b into the earlier launch a, if no launch from a to b writes what these
// parts read. It reports whether it did. If the layer lacks one of the launches (nil), it does nothing.
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

// launch returns the layer's launch that has an op with one of the names, or nil.
func (m *merger) launch(names ...string) *ir.Launch {
	for _, s := range m.launches {
		if slices.ContainsFunc(s.Ops(), func(op *ir.Op) bool { return slices.Contains(names, op.Name) }) {
			return s
		}
	}
	return nil
}

func mergeQKVA(p *ir.Program) error {
	return eachLayer(p, func(m *merger) { m.merge(m.launch("q_a", "q"), m.launch("kv_a")) })
}

// mergeStoreKV puts the cache write beside the launch before it. Without low-rank queries it puts the launch
// after the cache write beside it.
func mergeStoreKV(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		store := m.launch("store_kv")
		if q := m.launch("q_b"); q != nil && m.merge(q, store) {
			return
		}
		if kb := m.launch("k_b"); kb != nil && kb != store { // expanded heads have none
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

// mergeSharedDown puts the shared experts' down projection of a batch beside the routing, which leaves all
// cores but one idle. Beside the routed gate and up projections it would come late: persistent threadgroups
// occupy the cores there, and those that start after the shared experts' threadgroups end late.
func mergeSharedDown(p *ir.Program) error {
	return eachLayer(p, func(m *merger) {
		routed, routing, shared := m.launch("experts_gate", "experts_up"), m.launch("group_experts"), m.launch("shared_down")
		if routed != nil && routing != nil && shared != nil && p.BatchExperts(routed) {
			m.merge(routing, shared)
		}
	})
}
