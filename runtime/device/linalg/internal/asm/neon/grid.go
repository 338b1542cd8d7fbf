package neon

// Formats with a code book. The book, and what flips the signs of eight floats or bytes, are tables of the package in
// memory, which package linalg makes of those of package quant. gridbytes.go has the loops for bytes, which have the
// functions of formats from here.

var gridFormats = []gridFormat{
	{format{name: "IQ2_XXS", elems: 256, bytes: 66, words: true}, grid{book: "IQ2_XXS", signs: "even", unit: 1.0 / 8, sub: (*gridLoop).iq2_XXS}},
	{format{name: "IQ2_XS", elems: 256, bytes: 74, words: true}, grid{book: "IQ2_XS", signs: "even", unit: 1.0 / 8, sub: (*gridLoop).iq2_XS}},
	{format{name: "IQ2_S", elems: 256, bytes: 82, words: true}, grid{book: "IQ2_S", signs: "all", unit: 1.0 / 8, sub: (*gridLoop).iq2_S}},
	{format{name: "IQ3_XXS", elems: 256, bytes: 98, words: true}, grid{book: "IQ3_XXS", signs: "even", unit: 1.0 / 4, sub: (*gridLoop).iq3_XXS}},
	{format{name: "IQ3_S", elems: 256, bytes: 110, words: true}, grid{book: "IQ3_S", signs: "all", unit: 1, sub: (*gridLoop).iq3_S}},
	{format{name: "IQ1_S", elems: 256, bytes: 50, words: true}, grid{book: "IQ1", unit: 1, sub: (*gridLoop).iq1_S}},
	{format{name: "IQ1_M", elems: 256, bytes: 56, words: true}, grid{book: "IQ1", unit: 1, spread: true, sub: (*gridLoop).iq1_M}},
}

// gridFormat is a format and what its loops have of it.
type gridFormat struct {
	format
	grid
}

// floatGrids are their loops for inputs of floats.
func floatGrids() (list []format) {
	for _, f := range gridFormats {
		f.format.begin = f.grid.begin
		list = append(list, f.format)
	}
	return list
}

// grid is the loop of a format with a code book. unit is what the scales of its sub-blocks, odd numbers, are
// multiplied by, with d.
type grid struct {
	book, signs string
	unit        float32
	spread      bool              // the four nibbles of d are the upper ones of the scales
	sub         func(l *gridLoop) // emits 32 elements
}

// gridLoop is the state of such a loop.
type gridLoop struct {
	*loop
	*gridBytes  // nil: weights are floats
	book, signs gp
	d           reg // times unit, in the lowest lane
	shift       reg // 1/8 everywhere, of IQ1; of bytes 16
	sub         gp  // the number of the sub-block
	at          gp  // where its fields are, two by two: see field
	index       gp  // of an entry, and then its address
	other       gp
}

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

func (l *gridLoop) registers() { l.sub, l.at, l.index, l.other = l.gp(), l.gp(), l.gp(), l.gp() }

// factor makes l.d of a block.
func (l *gridLoop) factor(f grid, unit reg) {
	if f.spread {
		l.spreadHalf()
	} else {
		l.load("h", l.d, l.w, 0)
	}
	l.op("fcvt sh", l.d, l.d)
	l.op("fmul s", l.d, l.d, unit)
}

// spreadHalf makes d of the upper nibbles of four 16-bit words.
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

// field points l.at to what sub-blocks have from an offset on, of which each has some bytes.
func (l *gridLoop) field(offset, bytes int) {
	shift := map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[bytes]
	l.code("ADD R%d<<%d, R%d, R%d", l.sub, shift, l.w, l.at)
	if offset > 0 {
		l.add(l.at, offset)
	}
}

// scale returns d·(2s+1) everywhere, for the s in a register, which it overwrites. Of bytes 2s+1 goes to memory.
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

// signed puts eight weights at vector i: two vectors of magnitudes times the scale, negated as the table of signs has
// it for a number in a register, which is overwritten.
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

// eight loads the entry whose number is in l.index, of a book of eight values.
func (l *gridLoop) eight() []reg {
	if l.gridBytes != nil {
		l.code("ADD R%d<<3, R%d, R%d", l.index, l.book, l.index)
		return []reg{l.loaded("d", l.index, 0)}
	}
	l.code("ADD R%d<<5, R%d, R%d", l.index, l.book, l.index)
	return []reg{l.loaded("q", l.index, 0), l.loaded("q", l.index, 16)}
}

// four loads the entry whose number is in l.index, of a book of four values.
func (l *gridLoop) four() reg {
	if l.gridBytes != nil {
		l.code("ADD R%d<<2, R%d, R%d", l.index, l.book, l.index)
		return l.loaded("s", l.index, 0)
	}
	l.code("ADD R%d<<4, R%d, R%d", l.index, l.book, l.index)
	return l.loaded("q", l.index, 0)
}

// entry brings the byte at an offset from l.at to l.index, with some bits of high from bit shift on above it.
func (l *gridLoop) entry(offset int, high gp, shift, bits int) {
	l.code("UBFX $%d, R%d, $%d, R%d", shift, high, bits, l.other)
	l.code("MOVBU %d(R%d), R%d", offset, l.at, l.index)
	l.code("ORR R%d<<8, R%d", l.other, l.index)
}

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

// nibble brings the low or the high nibble of the byte of this sub-block from an offset on to l.other.
func (l *gridLoop) nibble(offset, high int) {
	l.code("ADD R%d, R%d, R%d", l.sub, l.w, l.other)
	l.code("MOVBU %d(R%d), R%d", offset, l.other, l.other)
	l.code("UBFX $%d, R%d, $4, R%d", 4*high, l.other, l.other)
}

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

func (l *gridLoop) iq3_S() {
	high, signs := l.gp(), l.gp()
	l.code("ADD R%d, R%d, R%d", l.sub, l.w, high)
	l.code("MOVBU 66(R%d), R%d", high, high)
	l.code("LSR $1, R%d, R%d", l.sub, l.other) // two sub-blocks have a byte of scales
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

// shifted puts eight weights of IQ1 at vector i: a scale times the values of the entry in l.index, plus common, which
// is the scale times the shift.
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

// common returns the scale times 1/8, negated where the lowest bit of a register is set; it is overwritten. Of bytes it
// is -1 where the bit is set, else 0.
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

func (l *gridLoop) iq1_M() {
	high, scales := l.gp(), l.gp()
	l.field(32, 2)
	l.code("MOVHU (R%d), R%d", l.at, high)
	l.code("LSR $1, R%d, R%d", l.sub, l.other) // two sub-blocks have 16 bits of scales
	l.code("ADD R%d<<1, R%d, R%d", l.other, l.w, l.other)
	l.code("MOVHU 48(R%d), R%d", l.other, scales)
	l.code("AND $1, R%d, R%d", l.sub, l.index)
	l.code("ADD R%d<<1, R%d, R%d", l.index, l.index, l.index)
	l.code("LSL $1, R%d, R%d", l.index, l.index) // six bits each
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
