package neon

import "fmt"

// Formats with blocks of 256 elements. The scales of a block are written to the stack as floats. The loop over sub-blocks
// reads them one after the other.

var superFormats = []format{
	{name: "Q4_K", elems: 256, bytes: 144, frame: 16, begin: affine(16, 0)},
	{name: "Q5_K", elems: 256, bytes: 176, frame: 16, begin: affine(48, 16)},
	{name: "Q6_K", elems: 256, bytes: 210, frame: 16, begin: q6_K},
	{name: "IQ4_XS", elems: 256, bytes: 136, frame: 8, begin: iq4_XS},
	{name: "Q2_K", elems: 256, bytes: 84, frame: 32, begin: q2_K},
	{name: "Q3_K", elems: 256, bytes: 110, frame: 16, begin: q3_K},
	{name: "TQ1_0", elems: 256, bytes: 54, begin: tq1_0},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_0},
}

// unpackScales loads constants. It returns a function that unpacks the first 16 bytes of a Q4_K or Q5_K block to 16 bytes:
// 8 scales, then 8 minima. unpackScales of the parent package shows the layout and the formula.
func (w *writer) unpackScales() func(block gp) reg {
	const a, b, c, none = 4, 8, 12, 0xff
	word := func(first ...byte) (list []byte) {
		for _, f := range first {
			for k := range byte(4) {
				if f == none {
					k = 0
				}
				list = append(list, f+k)
			}
		}
		return list
	}
	lows, highs := w.bytes("scaleLows", word(a, c, b, c)...), w.bytes("scaleHighs", word(none, a, none, b)...)
	shifts := w.words("scaleShifts", 0, 0, 0, ^uint32(3)) // distances for USHL; -4 shifts right
	masks := w.words("scaleMasks", 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f)
	upper := w.all(48)
	return func(block gp) reg {
		q, high := w.loaded("q", block, 0), w.vec()
		w.op("tbl", high, q, highs)
		w.op("tbl", q, q, lows)
		w.op("ushl 4s", q, q, shifts)
		w.op("and", q, q, masks)
		w.op("ushr 16b", high, high, 2)
		w.op("and", high, high, upper)
		w.op("orr", q, q, high)
		w.free(high)
		return q
	}
}

// affine returns begin of Q4_K or, with fifth bits at byte qh, Q5_K. Bit s of byte i of qh is the fifth bit of element
// 32·s + i.
func affine(qs, qh int) func(l *loop) func() {
	return func(l *loop) func() {
		unpack, low := l.unpackScales(), l.all(15)
		var sixteen reg
		if qh > 0 {
			sixteen = l.all(16)
		}
		return func() {
			d, dmin := l.half(l.w, 0), l.half(l.w, 2)
			l.op("fneg 4s", dmin, dmin)
			stack := l.stack()
			scales := unpack(l.w)
			l.spread(scales, func(j int, v reg) {
				factor := d
				if j >= 2 {
					factor = dmin
				}
				l.op("fmul by", v, v, factor)
				l.op("str q", v, stack, 16*j)
				l.free(v)
			})
			l.free(d, dmin, scales)
			from := l.after(l.w, qs)
			minima := l.after(stack, 32)
			var fifth []reg
			if qh > 0 {
				fifth = []reg{l.loaded("q", l.w, qh), l.loaded("q", l.w, qh+16)}
			}
			scale, minimum := l.vec(), l.vec()
			l.times(4, func() { // two sub-blocks of 32 elements: low and high nibbles of the same bytes
				for nibble := range 2 {
					l.op("ld1r 4s next", scale, stack)
					l.op("ld1r 4s next", minimum, minima)
					for half := range 2 {
						q := l.loaded("q", from, 16*half)
						if nibble == 0 {
							l.op("and", q, q, low)
						} else {
							l.op("ushr 16b", q, q, 4)
						}
						if qh > 0 {
							t := l.vec()
							l.op("shl 16b", t, fifth[half], 4-nibble)
							l.op("bit", q, t, sixteen)
							l.free(t)
						}
						l.bytesAt(8*nibble+4*half, q, l.affine(scale, minimum))
					}
				}
				for _, bits := range fifth {
					l.op("ushr 16b", bits, bits, 2)
				}
				l.add(from, 32)
				l.next(64)
			})
			l.free(scale, minimum)
			l.free(fifth...)
			l.freeGP(stack, minima, from)
		}
	}
}

// codesQ6_K loads constants. It returns a function that emits 16 codes of Q6_K, less 32, as signed bytes: piece 0 to 7 of
// 128 elements. low is the address of their 64 bytes of ql, high that of their 32 bytes of qh. bytesQ6_K of the parent
// package shows the layout.
func (w *writer) codesQ6_K() func(low, high gp, piece int) reg {
	fifteen, upper, less := w.all(15), w.all(48), w.all(32)
	return func(low, high gp, piece int) reg {
		k, side := piece/2, piece%2
		q, t := w.loaded("q", low, 32*(k%2)+16*side), w.loaded("q", high, 16*side)
		if k < 2 {
			w.op("and", q, q, fifteen)
		} else {
			w.op("ushr 16b", q, q, 4)
		}
		switch { // move bits 2k and 2k+1 to bits 4 and 5
		case k < 2:
			w.op("shl 16b", t, t, 4-2*k)
		case k == 3:
			w.op("ushr 16b", t, t, 2)
		}
		w.op("bit", q, t, upper)
		w.op("sub 16b", q, q, less)
		w.free(t)
		return q
	}
}

// q6_K is the loop of Q6_K.
func q6_K(l *loop) func() {
	codes := l.codesQ6_K()
	return func() {
		end := l.after(l.w, 192)
		d, stack := l.half(end, 16), l.stack()
		l.keep(l.loaded("q", end, 0), d, stack, 0)
		low, high, scale := l.after(l.w, 0), l.after(l.w, 128), d
		l.times(2, func() {
			for piece := range 8 {
				l.op("ld1r 4s next", scale, stack)
				l.bytesAt(4*piece, codes(low, high, piece), l.by(scale))
			}
			l.add(low, 64)
			l.add(high, 32)
			l.next(128)
		})
		l.free(scale)
		l.freeGP(end, stack, low, high)
	}
}

// right returns distances for USHL, which shifts right by a negative distance. Lane i moves field first+i of a word, whose
// fields have some bits each, down to bit 0.
func (w *writer) right(bits, first int) reg {
	var shifts [4]uint32
	for i := range shifts {
		shifts[i] = uint32(int32(-bits * (first + i)))
	}
	return w.words(fmt.Sprintf("right%d_%d", bits, first), shifts[:]...)
}

// scalesIQ4_XS loads constants. It returns a function that emits the eight scales of an IQ4_XS block, less 32, as 32-bit
// integers in two registers. wordsIQ4_XS of the parent package shows the layout.
func (w *writer) scalesIQ4_XS() func(block gp) [2]reg {
	var lows, highs [2]reg
	for i := range 2 {
		lows[i], highs[i] = w.right(4, 4*i), w.right(2, 4*i)
	}
	fifteen, three, less := w.words("words15", repeat(4, uint32(15))...), w.words("words3", repeat(4, uint32(3))...), w.words("words32", repeat(4, uint32(32))...)
	return func(block gp) (scales [2]reg) {
		from := w.after(block, 4)
		low, high := w.vec(), w.vec()
		w.op("ld1r 4s", low, from)
		w.code("MOVHU 2(R%d), R%d", block, from)
		w.op("dup 4sw", high, from)
		for i := range scales {
			s, t := w.vec(), w.vec()
			w.op("ushl 4s", s, low, lows[i])
			w.op("and", s, s, fifteen)
			w.op("ushl 4s", t, high, highs[i])
			w.op("and", t, t, three)
			w.op("shl 4s", t, t, 4)
			w.op("orr", s, s, t)
			w.op("sub 4s", s, s, less)
			w.free(t)
			scales[i] = s
		}
		w.free(low, high)
		w.freeGP(from)
		return scales
	}
}

// iq4_XS is the loop of IQ4_XS.
func iq4_XS(l *loop) func() {
	table, low, unpack := l.table(&levels), l.all(15), l.scalesIQ4_XS()
	return func() {
		scale, stack := l.half(l.w, 0), l.stack()
		for i, s := range unpack(l.w) {
			l.op("scvtf 4s", s, s)
			l.op("fmul by", s, s, scale)
			l.op("str q", s, stack, 16*i)
			l.free(s)
		}
		from := l.after(l.w, 8)
		l.times(8, func() {
			l.op("ld1r 4s next", scale, stack)
			q, high := l.loaded("q", from, 0), l.vec()
			l.op("ushr 16b", high, q, 4)
			l.op("and", q, q, low)
			for half, v := range []reg{q, high} {
				l.op("tbl", v, table, v)
				l.bytesAt(4*half, v, l.by(scale))
			}
			l.add(from, 16)
			l.next(32)
		})
		l.free(scale)
		l.freeGP(stack, from)
	}
}

// pairs loads constants. It returns a function that emits all two-bit codes of a block, which begin at a byte offset; see
// pairs2 of the parent package. Of each 32 elements finish gets the codes of the first 16 (half 0), and then of the last 16.
func (l *loop) pairs(offset int, finish func(half int, q reg)) func() {
	three, back := l.all(3), l.all(0xfe) // USHL by -2 shifts right
	return func() {
		from, distance := l.after(l.w, offset), l.vec()
		l.times(2, func() {
			bytes := [2]reg{l.loaded("q", from, 0), l.loaded("q", from, 16)}
			l.op("zero", distance)
			l.times(4, func() {
				for half, b := range bytes {
					q := l.vec()
					l.op("ushl 16b", q, b, distance)
					l.op("and", q, q, three)
					finish(half, q)
				}
				l.op("add 16b", distance, distance, back)
				l.next(32)
			})
			l.free(bytes[:]...)
			l.add(from, 32)
		})
		l.free(distance)
		l.freeGP(from)
	}
}

// q2_K is the loop of Q2_K. The stack has 16 scales times d, and then 16 minima times -dmin.
func q2_K(l *loop) func() {
	low := l.all(15)
	scale, minimum, stack, minima := l.vec(), l.vec(), l.gp(), l.gp()
	pairs := l.pairs(16, func(half int, q reg) {
		l.op("ld1r 4s next", scale, stack)
		l.op("ld1r 4s next", minimum, minima)
		l.bytesAt(4*half, q, l.affine(scale, minimum))
	})
	return func() {
		end := l.after(l.w, 80)
		d, dmin := l.half(end, 0), l.half(end, 2)
		l.op("fneg 4s", dmin, dmin)
		scales, mins := l.loaded("q", l.w, 0), l.vec()
		l.op("ushr 16b", mins, scales, 4)
		l.op("and", scales, scales, low)
		l.toStack(stack, 0)
		l.toStack(minima, 64)
		l.keep(scales, d, stack, 0)
		l.keep(mins, dmin, minima, 0)
		l.free(d, dmin)
		l.freeGP(end)
		pairs()
	}
}

// scalesQ3_K loads constants. It returns a function that emits the 16 scales of a Q3_K block, less 32, as signed bytes.
// scalesQ3_K of the parent package shows the layout.
func (w *writer) scalesQ3_K() func(block gp) reg {
	halves, shifts := w.halvesRight4(), w.right(2, 0)
	low, three, less := w.all(15), w.all(3), w.all(32)
	return func(block gp) reg {
		end, upper := w.after(block, 96), w.after(block, 104)
		q, high := w.vec(), w.vec()
		w.op("ld1r 2d", q, end)
		w.op("ushl 16b", q, q, halves)
		w.op("and", q, q, low)
		w.op("ld1r 4s", high, upper) // word j needs bits 2j and 2j+1 of each byte
		w.op("ushl 4s", high, high, shifts)
		w.op("and", high, high, three)
		w.op("shl 16b", high, high, 4)
		w.op("orr", q, q, high)
		w.op("sub 16b", q, q, less)
		w.free(high)
		w.freeGP(end, upper)
		return q
	}
}

// q3_K is the loop of Q3_K: a code has two bits, see pairs, and a third one above them. Bit n of byte i of the first 32
// bytes is the third bit of element 32·n + i. Codes count from 4.
func q3_K(l *loop) func() {
	unpack, four := l.scalesQ3_K(), l.all(4)
	scale, stack, thirds := l.vec(), l.gp(), l.vecs(2)
	pairs := l.pairs(32, func(half int, q reg) {
		t, bits := l.vec(), thirds[half]
		l.op("shl 16b", t, bits, 2)
		l.op("bit", q, t, four)
		l.op("sub 16b", q, q, four)
		l.free(t)
		l.op("ushr 16b", bits, bits, 1)
		l.op("ld1r 4s next", scale, stack)
		l.bytesAt(4*half, q, l.by(scale))
	})
	return func() {
		q, d := unpack(l.w), l.half(l.w, 108)
		l.toStack(stack, 0)
		l.keep(q, d, stack, 0)
		l.free(d)
		for half, bits := range thirds {
			l.load("q", bits, l.w, 16*half)
		}
		pairs()
	}
}

// tq2_0 is the loop of TQ2_0: 64 bytes of two-bit codes, which count from 1, then d.
func tq2_0(l *loop) func() {
	one, scale := l.all(1), l.vec()
	pairs := l.pairs(0, func(half int, q reg) {
		l.op("sub 16b", q, q, one)
		l.bytesAt(4*half, q, l.by(scale))
	})
	return func() {
		l.load("h", scale, l.w, 64)
		l.op("fcvt sh", scale, scale)
		pairs()
	}
}

// tq1_0 is the loop of TQ1_0. A byte b stands for the fraction b/256. Its first base-3 digit is floor(3·b/256), and 3·b
// modulo 256 is the fraction of the digits after it. tq1_0x2 of the parent package shows the layout.
func tq1_0(l *loop) func() {
	digits, three, powers := l.digits(), l.all(3), l.powersOf3()
	return func() {
		scale := l.half(l.w, 52)
		for _, run := range [][]int{{0, 16}, {32}} { // offsets of bytes whose digits k come before their digits k+1
			var bytes []reg
			for _, offset := range run {
				bytes = append(bytes, l.loaded("q", l.w, offset))
			}
			l.times(5, func() {
				for i, b := range bytes {
					l.bytesAt(4*i, digits(b), l.by(scale))
					l.op("mul 16b", b, b, three)
				}
				l.next(16 * len(bytes))
			})
			l.free(bytes...)
		}
		last, from := l.vec(), l.after(l.w, 48)
		l.op("ld1r 4s", last, from)
		l.op("mul 16b", last, last, powers)
		l.bytesAt(0, digits(last), l.by(scale))
		l.next(16)
		l.free(last, scale)
		l.freeGP(from)
	}
}

// powersOf3 returns 3^k in the bytes of word k. Times the last four bytes, in all words, they give the last 16 fractions.
func (w *writer) powersOf3() reg {
	return w.words("powersOf3", 0x01010101, 0x03030303, 0x09090909, 0x1b1b1b1b)
}

// digits returns a function that emits the first digit, less 1, of 16 fractions: how many of 1/3 and 2/3 each reaches.
func (w *writer) digits() func(b reg) reg {
	first, second, minus := w.all(86), w.all(171), w.all(0xff)
	return func(b reg) reg {
		q, t := w.vec(), w.vec()
		w.op("cmhs 16b", q, b, first) // -1 where b reaches 1/3
		w.op("cmhs 16b", t, b, second)
		w.op("sub 16b", q, minus, q)
		w.op("sub 16b", q, q, t)
		w.free(t)
		return q
	}
}
