package neon

// Loops of formats of 256 elements for inputs of bytes.

// affineBytes is the loop of Q4_K and Q5_K, see affine.
func affineBytes(qs, qh int) func(w *writer) int8Block {
	return func(w *writer) int8Block {
		unpack, low := w.unpackScales(), w.all(15)
		var sixteen reg
		if qh > 0 {
			sixteen = w.all(16)
		}
		return func(t *byteTile) {
			s := t.scaledSums(8)
			var minima [][2]reg
			for r, row := range t.rows {
				minima = append(minima, w.wordsOf(unpack(row), s.scales[r]))
			}
			t.subtractMinima(minima)
			from := t.pointers(qs)
			var fifth [][2]reg
			for _, row := range t.rows {
				if qh > 0 {
					fifth = append(fifth, [2]reg{w.loaded("q", row, qh), w.loaded("q", row, qh+16)})
				}
			}
			t.times(4, func() {
				for nibble := range 2 {
					var pieces [2][]reg
					for half := range pieces {
						for r, at := range from {
							q := w.loaded("q", at, 16*half)
							if nibble == 0 {
								w.op("and", q, q, low)
							} else {
								w.op("ushr 16b", q, q, 4)
							}
							if qh > 0 {
								bits := w.vec()
								w.op("shl 16b", bits, fifth[r][half], 4-nibble)
								w.op("bit", q, bits, sixteen)
								w.free(bits)
							}
							pieces[half] = append(pieces[half], q)
						}
					}
					s.add(32*nibble, pieces[:]...)
				}
				for _, bits := range fifth {
					w.op("ushr 16b", bits[0], bits[0], 2)
					w.op("ushr 16b", bits[1], bits[1], 2)
				}
				t.step(from, 32, 64)
			})
			t.rewind()
			s.finish(t.rows, 0)
			for _, bits := range fifth {
				w.free(bits[:]...)
			}
			w.freeGP(from...)
		}
	}
}

// wordsOf stores the first eight of 16 bytes as words and returns the others as words. It frees q.
func (w *writer) wordsOf(q reg, at gp) (others [2]reg) {
	high := w.vec()
	w.op("sxtl2 8h", high, q)
	w.op("sxtl 8h", q, q)
	t := w.vec()
	w.op("sxtl 4s", t, q)
	w.op("str q", t, at, 0)
	w.op("sxtl2 4s", t, q)
	w.op("str q", t, at, 16)
	w.free(t)
	w.op("sxtl 4s", q, high)
	w.op("sxtl2 4s", high, high)
	return [2]reg{q, high}
}

// subtractMinima takes dmin·Σ minimum·Σx from the running sums, and frees the minima.
func (t *byteTile) subtractMinima(minima [][2]reg) {
	var sums [][2]reg // of 32 elements of every input
	for _, x := range t.inputs {
		var pair [2]reg
		for i := range pair {
			v, other := t.loaded("q", x, superSums+32*i), t.loaded("q", x, superSums+32*i+16)
			t.op("addp 4s", v, v, other)
			t.free(other)
			pair[i] = v
		}
		sums = append(sums, pair)
	}
	var totals []reg
	for _, m := range minima {
		var ofRow []reg
		for _, x := range sums {
			v := t.vec()
			t.op("mul 4s", v, m[0], x[0])
			t.op("mla 4s", v, m[1], x[1])
			t.op("addv s", v, v)
			ofRow = append(ofRow, v)
		}
		if len(ofRow) == 2 {
			t.op("zip1 4s", ofRow[0], ofRow[0], ofRow[1])
			t.free(ofRow[1])
		}
		totals = append(totals, ofRow[0])
		t.free(m[:]...)
	}
	for _, x := range sums {
		t.free(x[:]...)
	}
	if len(totals) == 2 {
		t.op("zip1 2d", totals[0], totals[0], totals[1])
		t.free(totals[1])
	}
	t.op("scvtf 4s", totals[0], totals[0])
	dmin := t.ofRows(t.each(func(row gp) reg { return t.half(row, 2) }))
	t.addScaled("fmls 4s", totals[0], dmin, t.ofInputs(superScale))
}

func q6_KBytes(w *writer) int8Block {
	codes := w.codesQ6_K()
	return func(t *byteTile) {
		s, end := t.scaledSums(16), t.pointers(192)
		for r, at := range end {
			q := w.loaded("q", at, 0)
			high := w.wordsOf(q, s.scales[r])
			w.op("str q", high[0], s.scales[r], 32)
			w.op("str q", high[1], s.scales[r], 48)
			w.free(high[:]...)
		}
		low, upper := t.pointers(0), t.pointers(128)
		t.times(2, func() {
			for piece := range 8 {
				var q []reg
				for r := range t.rows {
					q = append(q, codes(low[r], upper[r], piece))
				}
				s.add(16*piece, q)
			}
			t.step(low, 64, 128)
			t.step(upper, 32, 0)
		})
		t.rewind()
		s.finish(end, 16)
		w.freeGP(end...)
		w.freeGP(low...)
		w.freeGP(upper...)
	}
}

func iq4_XSBytes(w *writer) int8Block {
	table, low, unpack := w.table(&levels), w.all(15), w.scalesIQ4_XS()
	return func(t *byteTile) {
		s := t.scaledSums(8)
		for r, row := range t.rows {
			for i, v := range unpack(row) {
				w.op("str q", v, s.scales[r], 16*i)
				w.free(v)
			}
		}
		from := t.pointers(8)
		t.times(8, func() {
			var pieces [2][]reg
			for _, at := range from {
				q, high := w.loaded("q", at, 0), w.vec()
				w.op("ushr 16b", high, q, 4)
				w.op("and", q, q, low)
				for half, v := range []reg{q, high} {
					w.op("tbl", v, table, v)
					pieces[half] = append(pieces[half], v)
				}
			}
			s.add(0, pieces[:]...)
			t.step(from, 16, 32)
		})
		t.rewind()
		s.finish(t.rows, 0)
		w.freeGP(from...)
	}
}
