package neon

// Loops over inputs of bytes for formats with a code book. The scales 2s+1 are integers, so a whole block is summed
// as integers.

// gridBytes collects the codes and scales of one sub-block of a row.
type gridBytes struct {
	scales gp    // address of the sub-block's scales on the stack
	kept   int   // number of scales stored so far
	pieces []reg // 16 codes each
	half   reg   // first eight codes of the next piece
	halves int   // number of eights so far
}

// int8Grids returns the formats of the loops over bytes.
func int8Grids() (list []int8Format) {
	for _, f := range gridFormats {
		list = append(list, int8Format{name: f.name, elems: f.elems, bytes: f.format.bytes, input: superBytes, frame: 16, begin: f.grid.begin8})
	}
	return list
}

// begin8 is begin of the loops over bytes.
func (f grid) begin8(w *writer) int8Block {
	l := &gridLoop{loop: &loop{writer: w}, gridBytes: &gridBytes{}, book: w.symbol("byteBook" + f.book)}
	w.add(l.book, 16) // the entries begin after 16 bytes, which the AVX2 loops read with an entry
	unit := f.unit
	if f.signs != "" {
		l.signs = w.symbol(f.signs + "SignBytes")
	} else {
		l.shift = w.all(16)
		unit /= 8 // codes are 8·(v ± 1/8)
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

// keepScale stores a scale where scaledSums.add reads the next one.
func (l *gridLoop) keepScale(s gp) {
	l.code("MOVW R%d, %d(R%d)", s, 4*l.kept, l.scales)
	l.kept++
}

// putBytes takes the next eight codes. Two eights make a piece.
func (l *gridLoop) putBytes(v reg) {
	if l.halves++; l.halves%2 == 1 {
		l.half = v
		return
	}
	l.op("zip1 2d", l.half, l.half, v)
	l.free(v)
	l.pieces = append(l.pieces, l.half)
}

// signedBytes multiplies eight magnitudes, in one register or two of four, by signs of 1 and -1, and puts them. The
// register signs has the index of an entry of the table of signs.
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

// shiftedBytes puts eight codes of IQ1. An entry is 8·v + 17, and common is -1 for a shift of -1/8, else 0: the code is
// entry - 16 + 2·common = 8·(v ± 1/8).
func (l *gridLoop) shiftedBytes(v, common reg) {
	l.op("sub 16b", v, v, l.shift)
	l.op("add 16b", v, v, common)
	l.op("add 16b", v, v, common)
	l.putBytes(v)
}
