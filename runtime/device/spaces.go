package device

import "mla/runtime/plan"

// align is what offsets are multiples of in the spaces whose operands are ranges of bytes; 0: operands stand for all of
// the space.
var align = [plan.Spaces]int64{
	plan.SpaceArena:    arenaAlign,
	plan.SpacePick:     ConstantsAlign,
	plan.SpaceCounters: ConstantsAlign,
}

// Memories is where every space is on a device: an M is a buffer, an address or a slice.
type Memories[M any] struct {
	Spaces [plan.Spaces]M // that of SpaceKV is empty
	Caches []M            // of SpaceKV: one for each layer that has one
}

// At is the memory that a binding is in. A device knows the places of weights itself.
func (m *Memories[M]) At(b *Binding) M {
	if b.Space == plan.SpaceKV {
		return m.Caches[b.Index]
	}
	return m.Spaces[b.Space]
}

// Sizes is the memory of each space in bytes; of SpaceKV it is that of one layer. It is 0 for weights, constants and
// rows, which are not part of a layout.
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

// Bytes is all of it.
func (l *Layout) Bytes() int64 {
	total := l.Cache * int64(l.Layers-1) // that of one layer is among the sizes
	for _, n := range l.Sizes() {
		total += n
	}
	return total
}
