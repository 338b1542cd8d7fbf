package verify

import (
	"fmt"
	"math"

	"mla/runtime/plan"
)

// Limits on linear attention. The bytes of a layer's state are far below the range of an int64.
const (
	maxHeadDim = 256 // columns of a head, which a threadgroup keeps in registers and in its memory
	maxTaps    = 16
	maxSlot    = 1 << 30 // floats of all layers of a session, 4 GiB
)

// checkHybrid checks the dimensions of states against their limits, and the list of layers with latent
// attention against the model.
func checkHybrid(m *plan.Model) error {
	h := m.Hybrid
	switch {
	case h == nil:
		return nil
	case h.HeadDim < 1 || h.HeadDim > maxHeadDim || h.ShortConvKernelSize < 2 || h.ShortConvKernelSize > maxTaps:
		return fmt.Errorf("linear attention of %d columns with %d taps; expected up to %d, and 2 to %d", h.HeadDim, h.ShortConvKernelSize, maxHeadDim, maxTaps)
	case !rising(h.FullAttnLayers, 0, m.NumHiddenLayers):
		return fmt.Errorf("full_attn_layers %.100v of %d layers; expected some, rising", h.FullAttnLayers, m.NumHiddenLayers)
	case m.NextN > 0 && len(m.State().Layers) > 0:
		return fmt.Errorf("a layer that predicts with linear attention")
	}
	if s := m.State(); s.Floats() > maxSlot {
		return fmt.Errorf("states of %d bytes; expected at most %d", s.Bytes(), 4*int64(maxSlot))
	}
	return nil
}

// checkDelta checks that simdgroups have whole columns of a state, and that lanes share the keys evenly.
func checkDelta(k *plan.Kernel, p plan.Part, eps, bound float64) error {
	s, simdgroups := plan.StateOf(p), k.Threads/SimdWidth
	if s.Dim%SimdWidth != 0 || s.Dim > maxHeadDim || s.Dim%simdgroups != 0 || s.Taps < 2 || s.Taps > maxTaps {
		return fmt.Errorf("heads of %d columns with %d taps, by %d simdgroups; expected multiples of %d up to %d that simdgroups share evenly, and 2 to %d taps",
			s.Dim, s.Taps, simdgroups, SimdWidth, maxHeadDim, maxTaps)
	}
	if !small(eps) || !(bound <= 0 && bound > -math.MaxFloat32) || len(k.Parts) != 1 {
		return fmt.Errorf("linear attention with eps %g and a bound of %g in a kernel of %d parts; expected a small one, none above 0, and one part", eps, bound, len(k.Parts))
	}
	return nil
}

func small(eps float64) bool { return eps > 0 && eps < 1 }

// checkDeltaRows checks that there is a thread for each channel of queries, keys, values and decays.
func checkDeltaRows(k *plan.Kernel, part plan.Part, p *plan.DeltaRows) error {
	if k.Threads != 4*p.Dim {
		return fmt.Errorf("%d threads for the vectors of heads of %d columns; expected four for each column", k.Threads, p.Dim)
	}
	return checkDelta(k, part, p.Eps, p.Bound)
}

// MaxChunkDim is the most columns of a head for which a chunk fits threadgroup memory.
const MaxChunkDim = 128

// checkDeltaChunks checks that a head's chunk fits threadgroup memory.
func checkDeltaChunks(k *plan.Kernel, p *plan.DeltaChunks) error {
	if p.Dim > MaxChunkDim {
		return fmt.Errorf("chunks of heads of %d columns; expected at most %d", p.Dim, MaxChunkDim)
	}
	return checkDeltaRows(k, p, &p.DeltaRows)
}

// checkDeltaFold checks that lanes share a state's columns and a chunk's vectors evenly.
func checkDeltaFold(k *plan.Kernel, p *plan.DeltaFold) error {
	even := func(a, b int) bool { return a > 0 && b > 0 && a%b == 0 }
	shared := p.Dim <= MaxChunkDim && even(p.Dim, p.Columns) && p.Lanes >= DeltaLanes && even(SimdWidth, p.Lanes) && even(p.Dim, 4*p.Lanes) &&
		even(p.Columns*p.Lanes, k.Threads)
	if !shared || !even(p.Lanes, p.Columns*p.Lanes/k.Threads) || !even(plan.DeltaPiece*p.Columns, k.Threads) || !even(plan.DeltaPiece*p.Dim, 4*k.Threads) {
		return fmt.Errorf("%d of %d columns by %d threads, %d of which share one; expected numbers that divide each other", p.Columns, p.Dim, k.Threads, p.Lanes)
	}
	return checkDelta(k, p, 0.5, 0) // DeltaFold has neither an eps nor a bound
}

// checkDeltaColumns checks that a threadgroup has DeltaLanes threads for each column that it updates at a
// time.
func checkDeltaColumns(k *plan.Kernel, p *plan.DeltaColumns) error {
	if p.Columns < 1 || p.Dim%p.Columns != 0 || p.Columns%(k.Threads/DeltaLanes) != 0 {
		return fmt.Errorf("%d of %d columns by %d threads; expected %d threads for each that has its turn", p.Columns, p.Dim, k.Threads, DeltaLanes)
	}
	return checkDelta(k, p, 0.5, 0) // DeltaColumns has neither an eps nor a bound
}

// DeltaLanes is how many lanes share a column of a state.
const DeltaLanes = 8

// checkGatedNorm checks that there is a simdgroup for each head, whose lanes share the columns evenly.
func checkGatedNorm(k *plan.Kernel, p *plan.GatedNormVec) error {
	if p.Dim%SimdWidth != 0 || p.Dim > maxHeadDim || p.HeadsPerGroup*SimdWidth != k.Threads || !small(p.Eps) {
		return fmt.Errorf("norms of %d heads of %d columns with eps %g by %d threads; expected a simdgroup for each, multiples of %d columns up to %d, and a small eps",
			p.HeadsPerGroup, p.Dim, p.Eps, k.Threads, SimdWidth, maxHeadDim)
	}
	return nil
}

// checkLimit checks that a limit is 0 or a positive finite number.
func checkLimit(limit float64) error {
	if !(limit >= 0 && limit < math.MaxFloat32) {
		return fmt.Errorf("a limit of %g; expected a number from 0 on", limit)
	}
	return nil
}
