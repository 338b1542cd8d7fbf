package bind

import (
	"encoding/binary"
	"math"

	"mla/runtime/plan"
)

// change is how kernels want a weight whose rows have so many bytes, where that is not
// how the file has it: nil for most.
func change(w *plan.Weight, row int) func(dst, src []byte) {
	switch {
	case w.RotaryRows > 0:
		return func(dst, src []byte) { pair(dst, src, row, w) }
	case w.Scale != 0:
		return func(dst, src []byte) { scale(dst, src, w.Scale) }
	}
	return nil
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
