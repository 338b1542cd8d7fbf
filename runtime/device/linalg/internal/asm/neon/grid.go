package neon

// Formats with a code book. Package linalg builds the tables in memory: the books, and the masks or factors that
// apply eight signs. gridbytes.go has the loops over bytes; they share the functions iq2_XXS to iq1_M with the loops over
// floats. gridblock.go of the parent package describes the block layouts.

// gridFormats are the formats with a code book.
var gridFormats = []gridFormat{
	{format{name: "IQ2_XXS", elems: 256, bytes: 66, words: true}, grid{book: "IQ2_XXS", signs: "even", unit: 1.0 / 8, sub: (*gridLoop).iq2_XXS}},
	{format{name: "IQ2_XS", elems: 256, bytes: 74, words: true}, grid{book: "IQ2_XS", signs: "even", unit: 1.0 / 8, sub: (*gridLoop).iq2_XS}},
	{format{name: "IQ2_S", elems: 256, bytes: 82, words: true}, grid{book: "IQ2_S", signs: "all", unit: 1.0 / 8, sub: (*gridLoop).iq2_S}},
	{format{name: "IQ3_XXS", elems: 256, bytes: 98, words: true}, grid{book: "IQ3_XXS", signs: "even", unit: 1.0 / 4, sub: (*gridLoop).iq3_XXS}},
	{format{name: "IQ3_S", elems: 256, bytes: 110, words: true}, grid{book: "IQ3_S", signs: "all", unit: 1, sub: (*gridLoop).iq3_S}},
	{format{name: "IQ1_S", elems: 256, bytes: 50, words: true}, grid{book: "IQ1", unit: 1, sub: (*gridLoop).iq1_S}},
	{format{name: "IQ1_M", elems: 256, bytes: 56, words: true}, grid{book: "IQ1", unit: 1, spread: true, sub: (*gridLoop).iq1_M}},
}

// gridFormat is a format with a code book: its format and its grid.
type gridFormat struct {
	format
	grid
}

// floatGrids returns the formats of the loops over floats.
func floatGrids() (list []format) {
	for _, f := range gridFormats {
		f.format.begin = f.grid.begin
		list = append(list, f.format)
	}
	return list
}

// grid is the loop of a format with a code book: a weight is d·unit·(2s+1) times a value of the book,
// with an integer s for each sub-block.
type grid struct {
	book, signs string
	unit        float32
	spread      bool              // d is in the upper nibbles of four words (IQ1_M), see spreadHalf
	sub         func(l *gridLoop) // emits a sub-block of 32 elements
}

// gridLoop is the state of a loop with a code book.
type gridLoop struct {
	*loop
	*gridBytes  // state of the loops over bytes; nil: weights are floats
	book, signs gp
	d           reg // d·unit, in the lowest lane
	shift       reg // for IQ1: 1/8 in all lanes, or 16 in all bytes
	sub         gp  // number of the sub-block
	at          gp  // address of a field of the sub-block, see field
	index       gp  // number of an entry, and then its address
	other       gp  // scratch
}

// begin is format.begin of the loops over floats.
func (f grid) begin(loop *loop) func() {
	l := &gridLoop{loop: loop, book: loop.symbol("book" + f.book)}
	unit := l.float(f.unit)
	if f.signs != "" {
		l.signs = l.symbol(f.signs + "Signs")
	} else {
		l.shift = l.float(0.125)
	}
	l.registers()
	l.d = l.vec()
	return func() {
		l.factor(f, unit)
		l.code("MOVD $0, R%d", l.sub)
		l.times(8, func() {
			f.sub(l)
			l.add(l.sub, 1)
			l.next(32)
		})
	}
}

// registers hands out the general registers of the loop.
func (l *gridLoop) registers() { l.sub, l.at, l.index, l.other = l.gp(), l.gp(), l.gp(), l.gp() }

// factor sets l.d to d·unit of the block at l.w.
func (l *gridLoop) factor(f grid, unit reg) {
	if f.spread {
		l.spreadHalf()
	} else {
		l.load("h", l.d, l.w, 0)
	}
	l.op("fcvt sh", l.d, l.d)
	l.op("fmul s", l.d, l.d, unit)
}

// spreadHalf sets l.d to the float16 whose nibbles are bits 12–15 of the four words at byte 48, the lowest nibble first.
func (l *gridLoop) spreadHalf() {
	l.code("MOVD 48(R%d), R%d", l.w, l.index)
	for k := range 4 {
		l.code("LSR $%d, R%d, R%d", 16*k+12, l.index, l.at)
		if k < 3 {
			l.code("AND $15, R%d", l.at)
		}
		if k == 0 {
			l.code("MOVD R%d, R%d", l.at, l.other)
		} else {
			l.code("ORR R%d<<%d, R%d", l.at, 4*k, l.other)
		}
	}
	l.op("fmov sw", l.d, l.other)
}

// field sets l.at to the address of a field of the current sub-block. The fields of the sub-blocks begin at offset
// in the block, and have 1, 2, 4 or 8 bytes each.
func (l *gridLoop) field(offset, bytes int) {
	shift := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[bytes]
	l.code("ADD R%d<<%d, R%d, R%d", l.sub, shift, l.w, l.at)
	if offset > 0 {
		l.add(l.at, offset)
	}
}

// scale returns d·unit·(2s+1) in all lanes, and overwrites s. In the loops over bytes it stores 2s+1 with
// keepScale instead, and the returned register is unset.
func (l *gridLoop) scale(s gp) reg {
	v := l.vec()
	l.code("LSL $1, R%d, R%d", s, s)
	l.code("ORR $1, R%d, R%d", s, s)
	if l.gridBytes != nil {
		l.keepScale(s)
		return v
	}
	l.op("scvtf sw", v, s)
	l.op("fmul s", v, v, l.d)
	return l.everywhere(v)
}

// signed puts eight weights from vector i on: two vectors of magnitudes times scale, with signs. The register signs has the
// index of an entry of the table of signs; signed overwrites it.
func (l *gridLoop) signed(i int, magnitudes []reg, signs gp, scale reg) {
	if l.gridBytes != nil {
		l.signedBytes(magnitudes, signs)
		return
	}
	l.code("ADD R%d<<5, R%d, R%d", signs, l.signs, signs)
	for k, v := range magnitudes {
		s := l.loaded("q", signs, 16*k)
		l.op("eor", s, s, scale)
		l.op("fmul 4s", v, v, s)
		l.free(s)
		l.put(i+k, v)
	}
}

// eight loads the entry with the number l.index, of a book with eight values per entry.
func (l *gridLoop) eight() []reg {
	if l.gridBytes != nil {
		l.code("ADD R%d<<3, R%d, R%d", l.index, l.book, l.index)
		return []reg{l.loaded("d", l.index, 0)}
	}
	l.code("ADD R%d<<5, R%d, R%d", l.index, l.book, l.index)
	return []reg{l.loaded("q", l.index, 0), l.loaded("q", l.index, 16)}
}

// four loads the entry with the number l.index, of a book with four values per entry.
func (l *gridLoop) four() reg {
	if l.gridBytes != nil {
		l.code("ADD R%d<<2, R%d, R%d", l.index, l.book, l.index)
		return l.loaded("s", l.index, 0)
	}
	l.code("ADD R%d<<4, R%d, R%d", l.index, l.book, l.index)
	return l.loaded("q", l.index, 0)
}

// entry sets l.index to the number of an entry. Its lower eight bits are the byte at an offset from l.at. Its upper
// bits are some bits of high, from bit shift on.
func (l *gridLoop) entry(offset int, high gp, shift, bits int) {
	l.code("UBFX $%d, R%d, $%d, R%d", shift, high, bits, l.other)
	l.code("MOVBU %d(R%d), R%d", offset, l.at, l.index)
	l.code("ORR R%d<<8, R%d", l.other, l.index)
}

// iq2_XXS emits a sub-block of IQ2_XXS: four entry numbers, and a dword of 4·7 signs and s.
func (l *gridLoop) iq2_XXS() {
	signs := l.gp()
	l.field(2, 8)
	l.code("MOVWU 4(R%d), R%d", l.at, signs)
	l.code("LSR $28, R%d, R%d", signs, l.other)
	scale := l.scale(l.other)
	for i := range 4 {
		l.code("MOVBU %d(R%d), R%d", i, l.at, l.index)
		l.code("UBFX $%d, R%d, $7, R%d", 7*i, signs, l.other)
		l.signed(2*i, l.eight(), l.other, scale)
	}
	l.free(scale)
	l.freeGP(signs)
}

// nibble sets l.other to the low (high 0) or high (high 1) nibble of a byte: sub-block s has the byte at offset + s.
func (l *gridLoop) nibble(offset, high int) {
	l.code("ADD R%d, R%d, R%d", l.sub, l.w, l.other)
	l.code("MOVBU %d(R%d), R%d", offset, l.other, l.other)
	l.code("UBFX $%d, R%d, $4, R%d", 4*high, l.other, l.other)
}

// iq2_XS emits a sub-block of IQ2_XS: four words of an entry number (9 bits) and 7 signs, and a byte with two s.
func (l *gridLoop) iq2_XS() {
	l.field(2, 8)
	var scale reg
	for i := range 4 {
		if i%2 == 0 {
			l.nibble(66, i/2)
			scale = l.scale(l.other)
		}
		l.code("MOVHU %d(R%d), R%d", 2*i, l.at, l.index)
		l.code("LSR $9, R%d, R%d", l.index, l.other)
		l.code("AND $511, R%d", l.index)
		l.signed(2*i, l.eight(), l.other, scale)
		if i%2 == 1 {
			l.free(scale)
		}
	}
}

// iq2_S emits a sub-block of IQ2_S: four lower bytes and a byte of upper bits, four bytes of signs, a byte with two s.
func (l *gridLoop) iq2_S() {
	high := l.gp()
	l.code("ADD R%d, R%d, R%d", l.sub, l.w, high)
	l.code("MOVBU 66(R%d), R%d", high, high)
	l.field(2, 4)
	var scale reg
	for i := range 4 {
		if i%2 == 0 {
			l.nibble(74, i/2)
			scale = l.scale(l.other)
		}
		l.entry(i, high, 2*i, 2)
		l.code("MOVBU %d(R%d), R%d", 32+i, l.at, l.other)
		l.signed(2*i, l.eight(), l.other, scale)
		if i%2 == 1 {
			l.free(scale)
		}
	}
	l.freeGP(high)
}

// iq3_XXS emits a sub-block of IQ3_XXS: eight entry numbers, and a dword of 4·7 signs and s.
func (l *gridLoop) iq3_XXS() {
	signs := l.gp()
	l.field(66, 4)
	l.code("MOVWU (R%d), R%d", l.at, signs)
	l.code("LSR $28, R%d, R%d", signs, l.other)
	scale := l.scale(l.other)
	l.field(2, 8)
	for i := range 4 {
		values := make([]reg, 2)
		for k := range values {
			l.code("MOVBU %d(R%d), R%d", 2*i+k, l.at, l.index)
			values[k] = l.four()
		}
		l.code("UBFX $%d, R%d, $7, R%d", 7*i, signs, l.other)
		l.signed(2*i, values, l.other, scale)
	}
	l.free(scale)
	l.freeGP(signs)
}

// iq3_S emits a sub-block of IQ3_S: eight lower bytes and a byte of upper bits, four bytes of signs, a nibble s.
func (l *gridLoop) iq3_S() {
	high, signs := l.gp(), l.gp()
	l.code("ADD R%d, R%d, R%d", l.sub, l.w, high)
	l.code("MOVBU 66(R%d), R%d", high, high)
	l.code("LSR $1, R%d, R%d", l.sub, l.other) // two sub-blocks share a byte of scales
	l.code("ADD R%d, R%d, R%d", l.w, l.other, l.other)
	l.code("MOVBU 106(R%d), R%d", l.other, l.other)
	l.code("AND $1, R%d, R%d", l.sub, l.index)
	l.code("LSL $2, R%d, R%d", l.index, l.index)
	l.code("LSR R%d, R%d, R%d", l.index, l.other, l.other)
	l.code("AND $15, R%d", l.other)
	scale := l.scale(l.other)
	l.field(74, 4)
	l.code("MOVD R%d, R%d", l.at, signs)
	l.field(2, 8)
	for i := range 4 {
		values := make([]reg, 2)
		for k := range values {
			l.entry(2*i+k, high, 2*i+k, 1)
			values[k] = l.four()
		}
		l.code("MOVBU %d(R%d), R%d", i, signs, l.other)
		l.signed(2*i, values, l.other, scale)
	}
	l.free(scale)
	l.freeGP(high, signs)
}

// shifted puts eight weights of IQ1 from vector i on: scale times the values of the entry l.index, plus common,
// which is scale times the shift.
func (l *gridLoop) shifted(i int, scale, common reg) {
	if l.gridBytes != nil {
		l.shiftedBytes(l.eight()[0], common)
		return
	}
	for k, v := range l.eight() {
		t := l.vec()
		l.op("mov", t, common)
		l.op("fmla 4s", t, v, scale)
		l.op("mov", v, t)
		l.free(t)
		l.put(i+k, v)
	}
}

// common returns scale/8, or -scale/8 if the lowest bit of the register negative is set; it overwrites the register. In the
// loops over bytes it returns -1 in all bytes if the bit is set, else 0.
func (l *gridLoop) common(scale reg, negative gp) reg {
	v := l.vec()
	l.code("LSL $31, R%d, R%d", negative, negative)
	l.op("dup 4sw", v, negative)
	if l.gridBytes != nil {
		l.op("sshr 4s", v, v, 31) // -1 in all bytes
		return v
	}
	l.op("eor", v, v, l.shift)
	l.op("fmul 4s", v, v, scale)
	return v
}

// iq1_S emits a sub-block of IQ1_S: four lower bytes, and a word of upper bits, s, and the sign of the shift.
func (l *gridLoop) iq1_S() {
	high := l.gp()
	l.field(34, 2)
	l.code("MOVHU (R%d), R%d", l.at, high)
	l.code("UBFX $12, R%d, $3, R%d", high, l.other)
	scale := l.scale(l.other)
	l.code("LSR $15, R%d, R%d", high, l.other)
	common := l.common(scale, l.other)
	l.field(2, 4)
	for i := range 4 {
		l.entry(i, high, 3*i, 3)
		l.shifted(2*i, scale, common)
	}
	l.free(scale, common)
	l.freeGP(high)
}

// iq1_M emits a sub-block of IQ1_M: four lower bytes, a word of upper bits and signs of shifts, and two s of three bits.
func (l *gridLoop) iq1_M() {
	high, scales := l.gp(), l.gp()
	l.field(32, 2)
	l.code("MOVHU (R%d), R%d", l.at, high)
	l.code("LSR $1, R%d, R%d", l.sub, l.other) // two sub-blocks have 16 bits of scales
	l.code("ADD R%d<<1, R%d, R%d", l.other, l.w, l.other)
	l.code("MOVHU 48(R%d), R%d", l.other, scales)
	l.code("AND $1, R%d, R%d", l.sub, l.index)
	l.code("ADD R%d<<1, R%d, R%d", l.index, l.index, l.index)
	l.code("LSL $1, R%d, R%d", l.index, l.index) // two scales of three bits
	l.code("LSR R%d, R%d, R%d", l.index, scales, scales)
	l.field(0, 4)
	var scale reg
	for i := range 4 {
		if i%2 == 0 {
			l.code("UBFX $%d, R%d, $3, R%d", 3*(i/2), scales, l.other)
			scale = l.scale(l.other)
		}
		l.code("UBFX $%d, R%d, $1, R%d", 4*i+3, high, l.other)
		common := l.common(scale, l.other)
		l.entry(i, high, 4*i, 3)
		l.shifted(2*i, scale, common)
		l.free(common)
		if i%2 == 1 {
			l.free(scale)
		}
	}
	l.freeGP(high, scales)
}
