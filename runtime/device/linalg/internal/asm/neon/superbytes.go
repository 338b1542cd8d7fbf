package neon

// Loops over inputs of bytes for formats with blocks of 256 elements. A block is summed as integers.

// affineBytes is begin of Q4_K or, with fifth bits, Q5_K; see affine for the layout.
func affineBytes(qs, qh int) func(w *writer) int8Block {
	return func(w *writer) int8Block {
		unpack, low := w.unpackScales(), w.all(15)
		var sixteen reg
		if qh > 0 {
			sixteen = w.all(16)
		}
		return func(t *byteTile) {
			s := t.scaledSums(8)
			var minima [][]reg
			for r, row := range t.rows {
				both := w.integers(unpack(row))
				w.keepWords(both[:2], s.scales[r])
				minima = append(minima, both[2:])
			}
			t.subtractMinima(minima, 2)
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

// integers widens 16 signed bytes to 32-bit integers in four registers, the first of which is q.
func (w *writer) integers(q reg) []reg {
	v := append([]reg{q}, w.vecs(3)...)
	w.op("sxtl2 8h", v[2], q)
	w.op("sxtl 8h", q, q)
	for i := 0; i < 4; i += 2 {
		w.op("sxtl2 4s", v[i+1], v[i])
		w.op("sxtl 4s", v[i], v[i])
	}
	return v
}

// keepWords stores registers one after the other from at on, and frees them.
func (w *writer) keepWords(list []reg, at gp) {
	for i, v := range list {
		w.op("str q", v, at, 16*i)
		w.free(v)
	}
}

// subtractMinima subtracts dmin·Σ minimum·Σx from the running sums. dmin is the byte offset of dmin (float16) in a block. minima
// has per row eight integers in two registers, or 16 in four; it frees them.
func (t *byteTile) subtractMinima(minima [][]reg, dmin int) {
	var sums [][]reg // of the inputs of each sub-block, per input
	for _, x := range t.inputs {
		var list []reg
		for i := range 4 {
			v := t.loaded("q", x, superSums+16*i)
			if len(minima[0]) == 2 && i%2 == 1 {
				t.op("addp 4s", list[i/2], list[i/2], v)
				t.free(v)
				continue
			}
			list = append(list, v)
		}
		sums = append(sums, list)
	}
	var totals []reg
	for _, m := range minima {
		var ofRow []reg
		for _, x := range sums {
			v := t.vec()
			t.op("mul 4s", v, m[0], x[0])
			for i := 1; i < len(m); i++ {
				t.op("mla 4s", v, m[i], x[i])
			}
			t.op("addv s", v, v)
			ofRow = append(ofRow, v)
		}
		if len(ofRow) == 2 {
			t.op("zip1 4s", ofRow[0], ofRow[0], ofRow[1])
			t.free(ofRow[1])
		}
		totals = append(totals, ofRow[0])
		t.free(m...)
	}
	for _, x := range sums {
		t.free(x...)
	}
	if len(totals) == 2 {
		t.op("zip1 2d", totals[0], totals[0], totals[1])
		t.free(totals[1])
	}
	t.op("scvtf 4s", totals[0], totals[0])
	factors := t.ofRows(t.each(func(row gp) reg { return t.half(row, dmin) }))
	t.addScaled("fmls 4s", totals[0], factors, t.ofInputs(superScale))
}

// q6_KBytes is the loop of Q6_K.
func q6_KBytes(w *writer) int8Block {
	codes := w.codesQ6_K()
	return func(t *byteTile) {
		s, end := t.scaledSums(16), t.pointers(192)
		for r, at := range end {
			w.keepWords(w.integers(w.loaded("q", at, 0)), s.scales[r])
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

// iq4_XSBytes is the loop of IQ4_XS.
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
