package plan

// State is the layout of a slot of SpaceState, which holds one session's state of linear attention: one layer
// after the other, all in float32. A layer has S of each head, then the windows of queries, keys and values:
//
//	S       [Heads][Dim values][Dim keys]   a value's column of the state, its keys side by side
//	windows [3][Heads*Dim channels][Taps-1] the projections of the last rows, oldest first, before the convolution
//
// The slot of a row is given by its Table, as each session has one block table and one slot. At position 0
// kernels take the state as zeros, whatever the slot holds, so slots need not be cleared. Dead rows touch no
// state.
type State struct {
	Heads, Dim, Taps int
	Layers           []int // the layers with linear attention, rising
}

// stateAlign divides the number of floats per layer in a slot, so that all layers are as aligned as the
// first.
const stateAlign = 64

// State is the layout of the model's states. It has no Layers if the model has no linear attention.
func (m *Model) State() (s State) {
	if m.Hybrid == nil {
		return s
	}
	s = State{Heads: m.NumAttentionHeads, Dim: m.Hybrid.HeadDim, Taps: m.Hybrid.ShortConvKernelSize}
	for i := range m.NumHiddenLayers {
		if m.Hybrid.Linear(i) {
			s.Layers = append(s.Layers, i)
		}
	}
	return s
}

// Windows is where the windows of a layer begin, in floats from the layer's first.
func (s *State) Windows() int { return s.Heads * s.Dim * s.Dim }

// LayerFloats is how many floats a layer uses.
func (s *State) LayerFloats() int { return s.Windows() + 3*s.Heads*s.Dim*(s.Taps-1) }

// stride is the number of floats between the beginnings of two layers.
func (s *State) stride() int { return ceil(s.LayerFloats(), stateAlign) * stateAlign }

// Floats is the size of a slot in floats, which is the distance between the slots of two sessions.
func (s *State) Floats() int { return len(s.Layers) * s.stride() }

// Bytes is the size of a slot in bytes; 0: the model has no linear attention.
func (s *State) Bytes() int64 { return 4 * int64(s.Floats()) }

// At is where a layer begins in a slot, in bytes; -1: the layer has no state.
func (s *State) At(layer int) int64 {
	for n, i := range s.Layers {
		if i == layer {
			return 4 * int64(n) * int64(s.stride())
		}
	}
	return -1
}

// CacheLayers lists the layers with a latent cache, rising.
func (m *Model) CacheLayers() (list []int) {
	for i := range m.NumHiddenLayers {
		if !m.Hybrid.Linear(i) {
			list = append(list, i)
		}
	}
	return list
}

// StateMoved is how many bytes of states a layer's kernel reads, and writes again, for a number of rows. The
// rows of a batch belong to as many sessions, the rows of a prompt to one.
func (b *Bundle) StateMoved(width int) int64 {
	s := b.Model.State()
	if width > b.BatchRows() {
		width = 1
	}
	return 4 * int64(s.LayerFloats()) * int64(max(width, 1))
}

// PartState is the layout of the states that a part updates, the floats between two slots, and how many
// threadgroups share the sessions.
type PartState struct {
	State
	Slot, Shares int
}

// StateOf is the PartState of a part of linear attention; nil: the part updates no state.
func StateOf(p Part) *PartState {
	switch p := p.(type) {
	case *DeltaHeads:
		return &PartState{State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}, p.Slot, p.Shares}
	case *DeltaVectors:
		return p.state()
	case *DeltaChunks:
		return p.state()
	case *DeltaFold:
		return &PartState{State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}, p.Slot, p.Shares}
	case *DeltaColumns:
		return &PartState{State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}, p.Slot, p.Shares}
	}
	return nil
}

// StateFlops is the number of floating-point operations that a part spends on the states per row; 0: none.
func StateFlops(p Part) int {
	switch s := StateOf(p); p.(type) {
	case *DeltaHeads, *DeltaColumns: // decay, two sums of two operations, and an update of two
		return 7 * s.Heads * s.Dim * s.Dim
	case *DeltaFold: // the same, but for a decay for each chunk
		return 6 * s.Heads * s.Dim * s.Dim
	case *DeltaChunks: // with half a chunk of rows: decay, two sums, and four updates
		return 13 * s.Heads * s.Dim * DeltaPiece / 2
	}
	return 0
}
