package device

import "mla/runtime/plan"

// align divides the offsets of operands that are byte ranges of their space; 0: operands are the whole space.
var align = [plan.Spaces]int64{
	plan.SpaceArena:    arenaAlign,
	plan.SpacePick:     ConstantsAlign,
	plan.SpaceCounters: ConstantsAlign,
}

// Memories is the memory of every space on a device: an M is a buffer, an address or a slice.
type Memories[M any] struct {
	Spaces [plan.Spaces]M // SpaceKV's is unused
	Caches []M            // of SpaceKV: one for each layer with a latent cache
}

// At is the memory of a binding. The places of weights are known to the device alone.
func (m *Memories[M]) At(b *Binding) M {
	if b.Space == plan.SpaceKV {
		return m.Caches[b.Index]
	}
	return m.Spaces[b.Space]
}

// Sizes is the bytes of each space; for SpaceKV, those of one layer. It is 0 for weights, constants and rows,
// which are not part of a layout.
func (l *Layout) Sizes() [plan.Spaces]int64 {
	return [plan.Spaces]int64{
		plan.SpaceArena:    l.Arena,
		plan.SpaceKV:       l.Cache,
		plan.SpaceRope:     l.Rope,
		plan.SpaceTables:   l.Tables,
		plan.SpaceLogits:   l.Logits,
		plan.SpaceCounters: l.Counters,
		plan.SpacePick:     l.Pick,
		plan.SpaceHeads:    l.Heads,
		plan.SpaceState:    l.States,
	}
}

// Bytes is the size of all memory of the layout.
func (l *Layout) Bytes() int64 {
	total := l.Cache * int64(l.Layers-1) // Sizes has one layer's
	for _, n := range l.Sizes() {
		total += n
	}
	return total
}
