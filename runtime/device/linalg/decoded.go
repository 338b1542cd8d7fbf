package linalg

import (
	"unsafe"

	"mla/runtime/quant"
)

// decodedFloats is how many floats are decoded before they are multiplied: they stay in the second cache.
const decodedFloats = 1 << 15

// multiplyDecoded multiplies rows r0 to r1 of a format without a loop for these inputs: some rows at a time
// become floats, which all inputs are multiplied by. Steps of the format are whole blocks.
func multiplyDecoded(k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	if len(ys) == 0 || len(in.xs[0]) == 0 {
		for _, y := range ys {
			clear(y[r0:r1])
		}
		return
	}
	elems := len(in.xs[0])
	together := min(max(decodedFloats/elems, stretchRows), r1-r0)
	in.room(together*elems, 0)
	for r := r0; r < r1; r += together {
		n := min(together, r1-r)
		for i := range n {
			k.decode(&w[(r+i)*stride], elems/k.step, &in.panel[i*elems])
		}
		in.part = in.part[:0]
		for _, y := range ys {
			in.part = append(in.part, y[r:r+n])
		}
		multiplyTiles(floats, k.floats, bytesOf(in.panel[:n*elems]), 4*elems, in, in.part, 0, n)
	}
}

// floats is the format of decoded rows.
var floats, _ = quant.Lookup(quant.F32)

// bytesOf returns the memory of floats: the loops of the F32 format take rows as bytes.
func bytesOf(f []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f)) }
