package bind

import (
	"encoding/binary"
	"math"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// change is how kernels want a weight whose rows have a given number of bytes, where that is not
// how the file has it: nil for most.
func change(w *plan.Weight, row int) func(dst, src []byte, entry int) {
	switch {
	case w.RotaryRows > 0:
		return func(dst, src []byte, _ int) { pair(dst, src, row, w) }
	case w.Scale != 0:
		return func(dst, src []byte, _ int) { scale(dst, src, w.Scale) }
	}
	return nil
}

// scaled makes NVFP4 weights with their scales of NVFP4 weights beside them: kernels find a factor in each block, so that
// they need no operand for it. The tensor scale is nil where a file has none.
func (s *source) scaled(scale *gguf.Tensor) {
	if scale == nil {
		return
	}
	from, to := mustLookup(quant.NVFP4), mustLookup(quant.NVFP4Scaled)
	before := s.change
	s.typ = quant.NVFP4Scaled
	s.bytes = s.entry / int64(from.BlockBytes) * int64(to.BlockBytes) * int64(s.batch)
	s.change = func(dst, src []byte, entry int) {
		if before != nil {
			changed := make([]byte, len(src))
			before(changed, src, entry)
			src = changed
		}
		quant.ScaleNVFP4(dst, src, scale.Float(entry))
	}
}

// pair copies the rows of one entry, the rotated ones of each head, which come in halves,
// in pairs: (0, n/2), (1, n/2+1), …
func pair(dst, src []byte, row int, w *plan.Weight) {
	n := w.RotaryRows
	for r := range w.Rows {
		from := r
		if i := r%w.HeadRows - (w.HeadRows - n); i >= 0 {
			from = r - i + i/2 + i%2*(n/2)
		}
		copy(dst[r*row:(r+1)*row], src[from*row:])
	}
}

// scale multiplies float32 numbers.
func scale(dst, src []byte, by float64) {
	for i := 0; i+4 <= len(src); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(src[i:]))
		binary.LittleEndian.PutUint32(dst[i:], math.Float32bits(x*float32(by)))
	}
}
