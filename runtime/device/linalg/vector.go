package linalg

import "mla/runtime/quant"

// VectorStep is the number of elements of one step of the assembly's vector loops. The functions below
// compute the remaining elements in Go.
const VectorStep = 32

// vectorLoops is the float loops of a back end over n elements, a positive multiple of VectorStep.
type vectorLoops struct {
	dot    func(a, b *float32, n int) float32
	axpy   func(dst *float32, a float32, x *float32, n int)
	fade   func(dst, keep *float32, a float32, x *float32, n int)
	scale  func(dst *float32, a float32, n int)
	widen  func(dst *float32, src *uint16, n int)
	round  func(dst *uint16, src *float32, n int)
	scaled func(dst *float32, src *byte, scales *uint16, n int)
	exp    func(x *float32, n int)
}

// whole returns how many of n elements the vector loops of the current back end compute, and these loops.
func whole(n int) (int, *vectorLoops) {
	b := active.Load()
	if b.vectors == nil {
		return 0, nil
	}
	return n &^ (VectorStep - 1), b.vectors
}

// DotF32 returns Σ a[i]·b[i] over len(a) elements; b must be at least as long.
func DotF32(a, b []float32) float32 {
	b = b[:len(a)]
	n, loops := whole(len(a))
	if n == 0 {
		return quant.DotFloats(a, b)
	}
	return loops.dot(&a[0], &b[0], n) + quant.DotFloats(a[n:], b[n:])
}

// Axpy adds a·x to dst, element by element; x must be at least as long as dst. On every back end the product
// is rounded before it is added, so the bits of an element do not depend on its place.
func Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	n, loops := whole(len(dst))
	if n > 0 {
		loops.axpy(&dst[0], a, &x[0], n)
	}
	x = x[n:]
	for i := range dst[n:] {
		dst[n+i] += float32(a * x[i]) // the conversion keeps Go from fusing the operations; the loops do not fuse them either
	}
}

// Fade sets dst to keep·dst + a·x, element by element; keep and x must be at least as long as dst. Both
// products are rounded before they are added, as in Axpy.
func Fade(dst, keep []float32, a float32, x []float32) {
	keep, x = keep[:len(dst)], x[:len(dst)]
	n, loops := whole(len(dst))
	if n > 0 {
		loops.fade(&dst[0], &keep[0], a, &x[0], n)
	}
	keep, x = keep[n:], x[n:]
	for i := range dst[n:] {
		dst[n+i] = float32(keep[i]*dst[n+i]) + float32(a*x[i])
	}
}

// Scale multiplies every element of dst by a.
func Scale(dst []float32, a float32) {
	n, loops := whole(len(dst))
	if n > 0 {
		loops.scale(&dst[0], a, n)
	}
	for i := range dst[n:] {
		dst[n+i] *= a
	}
}

// HalvesToFloats converts len(dst) halves; src must be at least as long.
func HalvesToFloats(dst []float32, src []uint16) {
	src = src[:len(dst)]
	n, loops := whole(len(dst))
	if n > 0 {
		loops.widen(&dst[0], &src[0], n)
	}
	for i, h := range src[n:] {
		dst[n+i] = quant.HalfToFloat(h)
	}
}

// FloatsToHalves converts len(dst) floats as FloatToHalf does; src must be at
// least as long.
func FloatsToHalves(dst []uint16, src []float32) {
	src = src[:len(dst)]
	n, loops := whole(len(dst))
	if n > 0 {
		loops.round(&dst[0], &src[0], n)
	}
	for i, f := range src[n:] {
		dst[n+i] = quant.FloatToHalf(f)
	}
}

// ScaledBytesToFloats converts len(dst) numbers of Q8_0 planes to floats, the inverse of
// quant.FloatsToScaledBytes. len(dst) must be a multiple of 32.
func ScaledBytesToFloats(dst []float32, qs []byte, scales []uint16) {
	qs, scales = qs[:len(dst)], scales[:len(dst)/32]
	n, loops := whole(len(dst))
	if n > 0 {
		loops.scaled(&dst[0], &qs[0], &scales[0], n)
		return
	}
	for b, scale := range scales {
		d := quant.HalfToFloat(scale)
		for i, q := range qs[32*b:][:32] {
			dst[32*b+i] = d * float32(int8(q))
		}
	}
}
