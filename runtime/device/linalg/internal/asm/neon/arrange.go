package neon

// signatureArrange is the signature of the Go type arrangeFunc.
const signatureArrange = "func(dst, x *float32, n int, common, last float32)"

// scaleOf returns the scale max|x|/127 of a block and its inverse, in the lowest lane. The lanes of most have the largest
// magnitudes. An element that is not finite makes the scale infinite or NaN, because FMAX returns NaN for a NaN. The inverse of
// a block of zeros is infinite; 0 times it is NaN, which becomes the integer 0.
func (w *writer) scaleOf(most, largest reg) (scale, inverse reg) {
	w.op("fmaxv s", most, most)
	scale, inverse = w.vec(), w.vec()
	w.op("fdiv s", scale, most, largest)
	w.op("fdiv s", inverse, largest, most)
	return scale, inverse
}

// rounded multiplies 32 floats by the lowest lane of inverse, stores the nearest integers as bytes, and returns them.
func (w *writer) rounded(x gp, inverse reg, to gp) (q [2]reg) {
	for half := range q {
		var v [4]reg
		for i := range v {
			v[i] = w.loaded("q", x, 64*half+16*i)
			w.op("fmul by", v[i], v[i], inverse)
			w.op("fcvtns 4s", v[i], v[i]) // to the nearest, ties to even; 0 of NaN
		}
		w.op("sqxtn 4h", v[0], v[0])
		w.op("sqxtn2 8h", v[0], v[1])
		w.op("sqxtn 4h", v[2], v[2])
		w.op("sqxtn2 8h", v[2], v[3])
		w.op("sqxtn 8b", v[0], v[0])
		w.op("sqxtn2 16b", v[0], v[2])
		w.op("str q", v[0], to, 16*half)
		w.free(v[1:]...)
		q[half] = v[0]
	}
	return q
}

// magnitudes raises the lanes of most to the magnitudes of n vectors at x.
func (w *writer) magnitudes(most reg, x gp, n int) {
	for i := range n {
		v := w.loaded("q", x, 16*i)
		w.op("fabs 4s", v, v)
		w.op("fmax 4s", most, most, v)
		w.free(v)
	}
}

// arrangeBlocks emits the function that arranges x in blocks of 32 bytes; see blockBytes for the layout.
func (w *writer) arrangeBlocks() {
	const name = "int8NEON"
	w.begin(name, signatureArrange, 0, name+" arranges n floats, a positive multiple of 32, as bytes.")
	dst, x, n, largest := w.param("dst"), w.param("x"), w.param("n"), w.float(127)
	w.until(n, 32, func() {
		most := w.zeros(1)[0]
		w.magnitudes(most, x, 8)
		scale, inverse := w.scaleOf(most, largest)
		q := w.rounded(x, inverse, dst)
		w.op("saddlp 8h", q[0], q[0])
		w.op("saddlp 8h", q[1], q[1])
		w.op("saddlp 4s", q[0], q[0])
		w.op("saddlp 4s", q[1], q[1])
		w.op("add 4s", q[0], q[0], q[1])
		w.op("addv s", q[0], q[0])
		w.op("scvtf s", q[0], q[0])
		w.op("fmul s", q[0], q[0], scale)
		w.op("str s", scale, dst, blockScale)
		w.op("str s", q[0], dst, blockSum)
		w.free(most, scale, inverse)
		w.free(q[:]...)
		w.add(x, 128)
		w.add(dst, blockBytes)
	})
	w.end()
}

// arrangeSuper emits the function that arranges x in blocks of 256 bytes; see superBytes for the layout.
func (w *writer) arrangeSuper() {
	const name = "int8SuperNEON"
	w.begin(name, signatureArrange, 0, name+" arranges n floats, a positive multiple of 256, as bytes.")
	dst, x, n, largest := w.param("dst"), w.param("x"), w.param("n"), w.float(127)
	w.until(n, 256, func() {
		most, from := w.zeros(1)[0], w.after(x, 0)
		w.times(8, func() {
			w.magnitudes(most, from, 8)
			w.add(from, 128)
		})
		scale, inverse := w.scaleOf(most, largest)
		to, sums := w.after(dst, 0), w.after(dst, superSums)
		w.op("str s", scale, dst, superScale)
		w.times(8, func() {
			for half, q := range w.rounded(x, inverse, to) {
				w.op("saddlp 8h", q, q)
				w.op("saddlp 4s", q, q)
				w.op("addv s", q, q)
				w.op("str s", q, sums, 4*half)
				w.free(q)
			}
			w.add(x, 128)
			w.add(to, 32)
			w.add(sums, 8)
		})
		w.free(most, scale, inverse)
		w.freeGP(from, to, sums)
		w.add(dst, superBytes)
	})
	w.end()
}
