package neon

// Loops over inputs of bytes for the formats below four bits, and NVFP4. gridbytes.go has the formats with code books.

// pairBytes emits the two-bit codes of a block in pieces of 16 elements, in the order of the 16 scales; see loop.pairs for
// the layout. change turns the codes of piece half of group k into signed bytes. add takes the codes of all rows, and
// the byte offset of their inputs. next emits code after each half of a block.
func (t *byteTile) pairBytes(offset int, three reg, change func(row, k, half int, q reg), add func(offset int, codes []reg), next func()) {
	from := t.pointers(offset)
	t.times(2, func() {
		for k := range 4 {
			for half := range 2 {
				var codes []reg
				for r, at := range from {
					q := t.loaded("q", at, 16*half)
					if k > 0 {
						t.op("ushr 16b", q, q, 2*k)
					}
					if k < 3 {
						t.op("and", q, q, three)
					}
					change(r, k, half, q)
					codes = append(codes, q)
				}
				add(32*k+16*half, codes)
			}
		}
		next()
		t.step(from, 32, 128)
	})
	t.rewind()
	t.freeGP(from...)
}

// addPiece adds a sub-block of 16 elements.
func (s *scaledSums) addPiece(offset int, codes []reg) { s.add(offset, codes) }

// q2_KBytes is the loop of Q2_K.
func q2_KBytes(w *writer) int8Block {
	three, low := w.all(3), w.all(15)
	return func(t *byteTile) {
		s := t.scaledSums(16)
		var minima [][]reg
		for r, row := range t.rows {
			scales, mins := w.loaded("q", row, 0), w.vec()
			w.op("ushr 16b", mins, scales, 4)
			w.op("and", scales, scales, low)
			w.keepWords(w.integers(scales), s.scales[r])
			minima = append(minima, w.integers(mins))
		}
		t.subtractMinima(minima, 82)
		t.pairBytes(16, three, func(int, int, int, reg) {}, s.addPiece, func() {})
		s.finish(t.rows, 80)
	}
}

// q3_KBytes is the loop of Q3_K. thirds has the third bits of each row; see q3_K for their layout.
func q3_KBytes(w *writer) int8Block {
	unpack, three, four := w.scalesQ3_K(), w.all(3), w.all(4)
	return func(t *byteTile) {
		s := t.scaledSums(16)
		var thirds [][]reg
		for r, row := range t.rows {
			w.keepWords(w.integers(unpack(row)), s.scales[r])
			thirds = append(thirds, []reg{w.loaded("q", row, 0), w.loaded("q", row, 16)})
		}
		t.pairBytes(32, three, func(r, k, half int, q reg) {
			bits := thirds[r][half]
			third := w.vec()
			switch { // move bit k of the third bits to bit 2
			case k < 2:
				w.op("shl 16b", third, bits, 2-k)
				bits = third
			case k == 3:
				w.op("ushr 16b", third, bits, 1)
				bits = third
			}
			w.op("bit", q, bits, four)
			w.op("sub 16b", q, q, four)
			w.free(third)
		}, s.addPiece, func() {
			for _, bits := range thirds {
				w.op("ushr 16b", bits[0], bits[0], 4)
				w.op("ushr 16b", bits[1], bits[1], 4)
			}
		})
		s.finish(t.rows, 108)
		for _, bits := range thirds {
			w.free(bits...)
		}
	}
}

// tq2_0Bytes is the loop of TQ2_0, which has no scales but d.
func tq2_0Bytes(w *writer) int8Block {
	three, one := w.all(3), w.all(1)
	return func(t *byteTile) {
		sums := t.zeros(1)[0]
		t.pairBytes(0, three, func(_, _, _ int, q reg) { w.op("sub 16b", q, q, one) }, func(offset int, codes []reg) {
			t.products(sums, codes, offset)
			t.free(codes...)
		}, func() {})
		t.whole(sums)
		t.addScaled("fmla 4s", sums, t.ofRows(t.each(func(row gp) reg { return w.half(row, 64) })), t.ofInputs(superScale))
	}
}

// tq1_0Bytes is the loop of TQ1_0; see tq1_0 for the layout.
func tq1_0Bytes(w *writer) int8Block {
	digits, three, powers := w.digits(), w.all(3), w.powersOf3()
	return func(t *byteTile) {
		sums := t.zeros(1)[0]
		run := func(n int, bytes ...[]reg) { // emits n digits of the bytes of every row
			t.times(n, func() {
				for i, rows := range bytes {
					var q []reg
					for _, b := range rows {
						q = append(q, digits(b))
						w.op("mul 16b", b, b, three)
					}
					t.products(sums, q, 16*i)
					t.free(q...)
				}
				t.step(nil, 0, 16*len(bytes))
			})
			for _, rows := range bytes {
				t.free(rows...)
			}
		}
		at := func(offset int) []reg { return t.each(func(row gp) reg { return w.loaded("q", row, offset) }) }
		run(5, at(0), at(16))
		run(5, at(32))
		run(1, t.each(func(row gp) reg {
			v, from := w.vec(), w.after(row, 48)
			w.op("ld1r 4s", v, from)
			w.op("mul 16b", v, v, powers)
			w.freeGP(from)
			return v
		}))
		t.rewind()
		t.whole(sums)
		t.addScaled("fmla 4s", sums, t.ofRows(t.each(func(row gp) reg { return w.half(row, 52) })), t.ofInputs(superScale))
	}
}

// blocksOf is the loop of a format with one scale for some blocks of 32 inputs. codes emits 16 elements of a row.
func (w *writer) blocksOf(blocks int, codes func(row gp, piece int) reg) int8Block {
	return func(t *byteTile) {
		for block := range blocks {
			sums := t.zeros(1)[0]
			for half := range 2 {
				q := t.each(func(row gp) reg { return codes(row, 2*block+half) })
				t.products(sums, q, blockBytes*block+16*half)
				t.free(q...)
			}
			t.whole(sums)
			t.addScaled("fmla 4s", sums, t.ofRows(t.each(func(row gp) reg { return w.half(row, 0) })), t.ofInputs(blockBytes*block+blockScale))
		}
	}
}

// q2_0Bytes is the loop of Q2_0.
func q2_0Bytes(w *writer) int8Block { return w.blocksOf(2, w.codesQ2_0()) }

// q1_0Bytes is the loop of Q1_0: an element is 1 if its bit is set, else -1.
func q1_0Bytes(w *writer) int8Block {
	sources, bits := w.bitSources()
	one, minus := w.all(1), w.all(0xff)
	return w.blocksOf(4, func(row gp, piece int) reg {
		q := w.loaded("h", row, 2+2*piece)
		w.op("tbl", q, q, sources)
		w.op("cmtst 16b", q, q, bits)
		w.op("bsl", q, one, minus)
		return q
	})
}

// nvfp4Bytes is begin of NVFP4, which has a scale for each 16 elements; see nvfp4 for head.
func nvfp4Bytes(head int) func(w *writer) int8Block {
	return func(w *writer) int8Block {
		block := w.blockNVFP4(head)
		return func(t *byteTile) {
			for sub := range 4 {
				sums, at := t.zeros(1)[0], blockBytes*(sub/2)
				var codes, scales []reg
				for _, row := range t.rows {
					q, scale := block(row, sub)
					codes, scales = append(codes, q), append(scales, scale)
				}
				t.products(sums, codes, at+16*(sub%2))
				t.free(codes...)
				t.whole(sums)
				t.addScaled("fmla 4s", sums, t.ofRows(scales), t.ofInputs(at+blockScale))
			}
		}
	}
}
