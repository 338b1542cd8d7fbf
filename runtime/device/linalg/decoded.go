package linalg

import (
	"unsafe"

	"mla/runtime/quant"
)

// decodedFloats is how many floats are decoded before they are multiplied. They fit the L2 cache.
const decodedFloats = 1 << 15

// multiplyDecoded multiplies rows r0 to r1 of a format without loops for this number of inputs. It decodes a
// block of rows to floats, and multiplies these by all inputs. A step of such a format is a whole number of
// its blocks.
func multiplyDecoded(k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	if len(ys) == 0 || len(in.xs[0]) == 0 {
		for _, y := range ys {
			clear(y[r0:r1])
		}
		return
	}
	elems := len(in.xs[0])
	block := min(max(decodedFloats/elems, stretchRows), r1-r0)
	in.grow(block*elems, 0)
	for r := r0; r < r1; r += block {
		n := min(block, r1-r)
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

// bytesOf returns the memory of floats as bytes, the argument type of the loops.
func bytesOf(f []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f)) }
