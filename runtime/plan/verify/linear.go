package verify

import (
	"fmt"
	"math"

	"mla/runtime/plan"
)

// The limits on linear attention: the state of a layer fits an int64 of bytes many times over.
const (
	maxHeadDim = 256 // columns of a head, which its threadgroup keeps in registers and its memory
	maxTaps    = 16
	maxSlot    = 1 << 30 // floats of all layers of a session, 4 GiB
)

// checkHybrid holds what sizes of states follow from to its limits, and the list of the other layers to the model.
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

// checkDelta wants simdgroups with whole columns, whose keys the lanes share evenly.
func checkDelta(k *plan.Kernel, p *plan.DeltaHeads) error {
	simdgroups := k.Threads / SimdWidth
	if p.Dim%SimdWidth != 0 || p.Dim > maxHeadDim || p.Dim%simdgroups != 0 || p.Taps < 2 || p.Taps > maxTaps {
		return fmt.Errorf("heads of %d columns with %d taps, by %d simdgroups; expected multiples of %d up to %d that simdgroups share evenly, and 2 to %d taps",
			p.Dim, p.Taps, simdgroups, SimdWidth, maxHeadDim, maxTaps)
	}
	if !(p.Eps > 0 && p.Eps < 1) || !(p.Bound <= 0 && p.Bound > -math.MaxFloat32) || len(k.Parts) != 1 {
		return fmt.Errorf("linear attention with eps %g and a bound of %g in a kernel of %d parts; expected a small one, none above 0, and one part", p.Eps, p.Bound, len(k.Parts))
	}
	return nil
}

// checkLimit wants a bound of what is multiplied, or none.
func checkLimit(limit float64) error {
	if !(limit >= 0 && limit < math.MaxFloat32) {
		return fmt.Errorf("a limit of %g; expected a number from 0 on", limit)
	}
	return nil
}
