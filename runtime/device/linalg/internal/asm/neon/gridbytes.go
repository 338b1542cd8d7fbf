package neon

// Formats with a code book for inputs of bytes. Their scales are integers: all of a block is summed as integers.

// gridBytes is what a loop of bytes has of a row and a sub-block: pieces of 16 codes, and where scales go.
type gridBytes struct {
	scales gp
	kept   int // scales of this sub-block so far
	pieces []reg
	half   reg // eight codes of the next piece
	halves int // codes so far, in eights
}

// int8Grids are the formats of gridFormats.
func int8Grids() (list []int8Format) {
	for _, f := range gridFormats {
		list = append(list, int8Format{name: f.name, elems: f.elems, bytes: f.format.bytes, input: superBytes, frame: 16, begin: f.grid.begin8})
	}
	return list
}

func (f grid) begin8(w *writer) int8Block {
	l := &gridLoop{loop: &loop{writer: w}, gridBytes: &gridBytes{}, book: w.symbol("byteBook" + f.book)}
	w.add(l.book, 16) // before it are bytes that other loops read with an entry
	unit := f.unit
	if f.signs != "" {
		l.signs = w.symbol(f.signs + "SignBytes")
	} else {
		l.shift = w.all(16)
		unit /= 8 // codes are eight times the values, and the shift
	}
	units := w.float(unit)
	l.registers()
	return func(t *byteTile) {
		s := t.scaledSums(16)
		w.code("MOVD $0, R%d", l.sub)
		t.times(8, func() {
			var pieces [2][]reg
			for r, row := range t.rows {
				l.w, *l.gridBytes = row, gridBytes{scales: s.scales[r]}
				f.sub(l)
				for i, q := range l.pieces {
					pieces[i] = append(pieces[i], q)
				}
			}
			if l.kept == len(pieces) {
				s.add(0, pieces[0])
				s.add(16, pieces[1])
			} else {
				s.add(0, pieces[:]...)
			}
			w.add(l.sub, 1)
			t.step(nil, 0, 32)
		})
		t.rewind()
		s.finishBy(t.each(func(row gp) reg {
			l.w, l.d = row, w.vec()
			l.factor(f, units)
			return l.d
		}))
	}
}

// keepScale stores a scale where the sums look for the next.
func (l *gridLoop) keepScale(s gp) {
	l.code("MOVW R%d, %d(R%d)", s, 4*l.kept, l.scales)
	l.kept++
}

// putBytes takes the next eight codes.
func (l *gridLoop) putBytes(v reg) {
	if l.halves++; l.halves%2 == 1 {
		l.half = v
		return
	}
	l.op("zip1 2d", l.half, l.half, v)
	l.free(v)
	l.pieces = append(l.pieces, l.half)
}

// signedBytes takes eight magnitudes, in one register or in two, times the signs whose number is in a register.
func (l *gridLoop) signedBytes(magnitudes []reg, signs gp) {
	v := magnitudes[0]
	if len(magnitudes) == 2 {
		l.op("zip1 4s", v, v, magnitudes[1])
		l.free(magnitudes[1])
	}
	l.code("ADD R%d<<3, R%d, R%d", signs, l.signs, signs)
	s := l.loaded("d", signs, 0)
	l.op("mul 16b", v, v, s)
	l.free(s)
	l.putBytes(v)
}

// shiftedBytes takes eight codes of IQ1: entries are eight times the values, plus 17, and common is what common returns.
func (l *gridLoop) shiftedBytes(v, common reg) {
	l.op("sub 16b", v, v, l.shift)
	l.op("add 16b", v, v, common)
	l.op("add 16b", v, v, common)
	l.putBytes(v)
}
