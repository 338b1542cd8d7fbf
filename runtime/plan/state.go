package plan

// State is where a slot of SpaceState keeps what a session has of the layers with linear attention: layer after layer,
// all in float32. Of a layer that is S of each head, then the windows of queries, keys and values:
//
//	S       [Heads][Dim values][Dim keys]   a value's column of the state, its keys side by side
//	windows [3][Heads*Dim channels][Taps-1] the projections of the last rows, oldest first, before the convolution
//
// The slot of a row is that of its Table: a session has one of both. In front of position 0 a state is zeros, whatever
// the slot holds, so nobody clears slots. Dead rows touch none.
type State struct {
	Heads, Dim, Taps int
	Layers           []int // that have one, rising
}

// stateAlign is what a layer's floats in a slot are a multiple of, so that all layers are as aligned as the first.
const stateAlign = 64

// State is how slots keep the model's states; of a model without linear attention they have no layers.
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

// Windows is where the windows of a layer begin, in floats from its first one.
func (s *State) Windows() int { return s.Heads * s.Dim * s.Dim }

// LayerFloats is how many floats a layer uses.
func (s *State) LayerFloats() int { return s.Windows() + 3*s.Heads*s.Dim*(s.Taps-1) }

// stride is from a layer's first float to the next layer's.
func (s *State) stride() int { return ceil(s.LayerFloats(), stateAlign) * stateAlign }

// Floats is the size of a slot, and so the distance between the slots of two sessions.
func (s *State) Floats() int { return len(s.Layers) * s.stride() }

// Bytes is the same in bytes; 0: the model has no such layers.
func (s *State) Bytes() int64 { return 4 * int64(s.Floats()) }

// At is where a layer's floats begin in a slot, in bytes; -1: it has none.
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

// StateMoved is how many bytes of states a layer's kernel for a given number of rows reads, and writes again: each row of a batch is
// of a session of its own, those of a prompt are of one.
func (b *Bundle) StateMoved(width int) int64 {
	s := b.Model.State()
	if width > b.BatchRows() {
		width = 1
	}
	return 4 * int64(s.LayerFloats()) * int64(max(width, 1))
}

// PartState says of a part how the states lie that it moves on, and how many threadgroups share the sessions.
type PartState struct {
	State
	Slot, Shares int
}

// StateOf is that of a part with linear attention; nil: it moves none on.
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

// StateFlops is how many operations a part makes with the states of each row; 0: it has none.
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
