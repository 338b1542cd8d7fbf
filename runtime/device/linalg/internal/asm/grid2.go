package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// grid is the loop of a format with a code book, for AVX2. unit is what the scales of its sub-blocks, odd
// numbers, are multiplied by, with d.
type grid struct {
	quant.Type
	unit float32
	sub  func(l *gridLoop, r, sub int) // emits 32 elements of row r
}

// gridLoop is the state of such a loop: its tables, and d times the unit of each row.
type gridLoop struct {
	*loop
	book, signs, odd, shifts reg.Register
	d                        operand.Mem
}

func (f grid) begin(g *gen, t shape) func(*loop) {
	of, _ := quant.Lookup(f.Type)
	var book operand.Mem
	if of.Book.Group == 8 {
		book = g.qwords(of.Book.Name+"Book", of.Book.Values()...)
	} else {
		book = g.dwords(of.Book.Name+"Book", of.Book.Words()...)
	}
	l := gridLoop{book: g.base(book), odd: g.base(g.floats("odd", oddNumbers()...)), d: g.AllocLocal(32 * t.rows)}
	switch f.Type {
	case quant.IQ2_XXS, quant.IQ2_XS, quant.IQ3_XXS:
		l.signs = g.base(g.qwords("evenSigns", signBytes(128)...))
	case quant.IQ2_S, quant.IQ3_S:
		l.signs = g.base(g.qwords("allSigns", signBytes(256)...))
	default:
		l.shifts = g.base(g.floats("shifts", 0.125, -0.125))
	}
	unit := g.floats("unit"+of.Name, repeat(8, f.unit)...)
	return func(loop *loop) {
		l.loop = loop
		for r, row := range l.rows {
			var d reg.VecVirtual
			if f.Type == quant.IQ1_M {
				d = g.spreadHalf(at(row.block, 48))
			} else {
				d = g.half2(at(row.block, 0))
			}
			g.VMULPS(unit, d, d)
			g.VMOVUPS(d, l.d.Offset(32*r))
		}
		for sub := range 8 {
			l.loadX(4*sub, 4)
			for r := range l.rows {
				f.sub(&l, r, sub)
			}
		}
	}
}

// base returns a register with the address of a table.
func (g *gen) base(m operand.Mem) reg.GPVirtual {
	r := g.GP64()
	g.LEAQ(m, r)
	return r
}

// oddNumbers are what scales of four bits stand for.
func oddNumbers() []float32 {
	odd := make([]float32, 16)
	for i := range odd {
		odd[i] = float32(2*i + 1)
	}
	return odd
}

// signBytes are eight bytes of 1 or -1 for each of n numbers: bit i makes byte i negative. Of 128 numbers
// an eighth bit makes the number of ones even. VPSIGNB reads eight bytes more than it uses.
func signBytes(n int) []uint64 {
	list := make([]uint64, n+1)
	for i := range n {
		b := uint(i)
		if n == 128 {
			b |= uint(bits.OnesCount(b)) % 2 << 7
		}
		for j := range 8 {
			v := uint64(1)
			if b>>j&1 == 1 {
				v = 0xff
			}
			list[i] |= v << (8 * j)
		}
	}
	return list
}

// spreadHalf returns the half whose four nibbles are the upper ones of the four words at m, in every lane.
func (g *gen) spreadHalf(m operand.Mem) reg.VecVirtual {
	half, word := g.GP64(), g.GP64()
	for k := range 4 {
		to := word
		if k == 0 {
			to = half
		}
		g.MOVWQZX(m.Offset(2*k), to)
		g.SHRQ(operand.U8(12), to)
		if k > 0 {
			g.SHLQ(operand.U8(4*k), to)
			g.ORQ(to, half)
		}
	}
	v := g.YMM()
	g.VMOVD(half.As32(), v.AsX())
	g.VPBROADCASTW(v.AsX(), v.AsX())
	g.VCVTPH2PS(v.AsX(), v)
	return v
}

// byteAt and wordAt return the byte, or the 16 bits, at an offset of the block of row r.
func (l *gridLoop) byteAt(r, offset int) reg.GPVirtual {
	v := l.GP64()
	l.MOVBQZX(at(l.rows[r].block, offset), v)
	return v
}

func (l *gridLoop) wordAt(r, offset int) reg.GPVirtual {
	v := l.GP64()
	l.MOVWQZX(at(l.rows[r].block, offset), v)
	return v
}

// field returns the bits of mask at bit shift of v.
func (l *gridLoop) field(v reg.GPVirtual, shift int, mask uint32) reg.GPVirtual {
	f := l.GP64()
	l.MOVL(v.As32(), f.As32())
	if shift > 0 {
		l.SHRL(operand.U8(shift), f.As32())
	}
	l.ANDL(operand.U32(mask), f.As32())
	return f
}

// entry returns the byte at an offset with the bits of mask at bit shift of high above it.
func (l *gridLoop) entry(r, offset int, high reg.GPVirtual, shift int, mask uint32) reg.GPVirtual {
	low, e := l.byteAt(r, offset), l.field(high, shift, mask)
	l.SHLL(operand.U8(8), e.As32())
	l.ORL(low.As32(), e.As32())
	return e
}

// scale returns the factor of the scale s of row r.
func (l *gridLoop) scale(r int, s reg.GPVirtual) reg.VecVirtual {
	v := l.broadcast2(operand.Mem{Base: l.odd, Index: s, Scale: 4})
	l.VMULPS(l.d.Offset(32*r), v, v)
	return v
}

// addSigned adds eight weights of row r: a scale times the bytes in v with the signs of a number.
func (l *gridLoop) addSigned(r, eight int, v reg.VecVirtual, signs reg.GPVirtual, scale reg.VecVirtual) {
	l.VPSIGNB(operand.Mem{Base: l.signs, Index: signs, Scale: 8}, v, v)
	w := l.widen(v)
	l.VMULPS(scale, w, w)
	l.loop.add(l.rows[r], eight, w)
}

// eightBytes returns an entry of a book of eight values, and twoEntries two of a book of four.
func (l *gridLoop) eightBytes(entry reg.GPVirtual) reg.VecVirtual {
	v := l.XMM()
	l.VMOVQ(operand.Mem{Base: l.book, Index: entry, Scale: 8}, v)
	return v
}

func (l *gridLoop) twoEntries(first, second reg.GPVirtual) reg.VecVirtual {
	v := l.XMM()
	l.VMOVD(operand.Mem{Base: l.book, Index: first, Scale: 4}, v)
	l.VPINSRD(operand.U8(1), operand.Mem{Base: l.book, Index: second, Scale: 4}, v, v)
	return v
}

// addShifted adds eight weights of IQ1: a scale times the sum of the values of an entry and a shift,
// number 0 or 1 of the table.
func (l *gridLoop) addShifted(r, eight int, entry, shift reg.GPVirtual, scale reg.VecVirtual) {
	w := l.widen(operand.Mem{Base: l.book, Index: entry, Scale: 8})
	l.VADDPS(l.broadcast2(operand.Mem{Base: l.shifts, Index: shift, Scale: 4}), w, w)
	l.VMULPS(scale, w, w)
	l.loop.add(l.rows[r], eight, w)
}

// scalePair returns a function with the scales of the first and the second two eights: nibbles of the byte at an offset.
func (l *gridLoop) scalePair(r, offset int) func(i int) reg.VecVirtual {
	nibbles := l.byteAt(r, offset)
	var scale reg.VecVirtual
	return func(i int) reg.VecVirtual {
		if i%2 == 0 {
			scale = l.scale(r, l.field(nibbles, 2*i, 15))
		}
		return scale
	}
}

func (l *gridLoop) iq2_XXS(r, sub int) {
	signs := l.GP64()
	l.MOVL(at(l.rows[r].block, 6+8*sub), signs.As32())
	scale := l.scale(r, l.field(signs, 28, 15))
	for i := range 4 {
		l.addSigned(r, 4*sub+i, l.eightBytes(l.byteAt(r, 2+8*sub+i)), l.field(signs, 7*i, 127), scale)
	}
}

func (l *gridLoop) iq2_XS(r, sub int) {
	scale := l.scalePair(r, 66+sub)
	for i := range 4 {
		q := l.wordAt(r, 2+2*(4*sub+i))
		l.addSigned(r, 4*sub+i, l.eightBytes(l.field(q, 0, 511)), l.field(q, 9, 127), scale(i))
	}
}

func (l *gridLoop) iq2_S(r, sub int) {
	high, scale := l.byteAt(r, 66+sub), l.scalePair(r, 74+sub)
	for i := range 4 {
		g := 4*sub + i
		l.addSigned(r, g, l.eightBytes(l.entry(r, 2+g, high, 2*i, 3)), l.byteAt(r, 34+g), scale(i))
	}
}

func (l *gridLoop) iq3_XXS(r, sub int) {
	signs := l.GP64()
	l.MOVL(at(l.rows[r].block, 66+4*sub), signs.As32())
	scale := l.scale(r, l.field(signs, 28, 15))
	for i := range 4 {
		g := 4*sub + i
		l.addSigned(r, g, l.twoEntries(l.byteAt(r, 2+2*g), l.byteAt(r, 3+2*g)), l.field(signs, 7*i, 127), scale)
	}
}

func (l *gridLoop) iq3_S(r, sub int) {
	high, scale := l.byteAt(r, 66+sub), l.scale(r, l.field(l.byteAt(r, 106+sub/2), sub%2*4, 15))
	for i := range 4 {
		g := 4*sub + i
		first, second := l.entry(r, 2+2*g, high, 2*i, 1), l.entry(r, 3+2*g, high, 2*i+1, 1)
		l.addSigned(r, g, l.twoEntries(first, second), l.byteAt(r, 74+g), scale)
	}
}

func (l *gridLoop) iq1_S(r, sub int) {
	high := l.wordAt(r, 34+2*sub)
	scale, shift := l.scale(r, l.field(high, 12, 7)), l.field(high, 15, 1)
	for i := range 4 {
		g := 4*sub + i
		l.addShifted(r, g, l.entry(r, 2+g, high, 3*i, 7), shift, scale)
	}
}

func (l *gridLoop) iq1_M(r, sub int) {
	high, scales := l.wordAt(r, 32+2*sub), l.wordAt(r, 48+sub/2*2)
	var scale reg.VecVirtual
	for i := range 4 {
		g := 4*sub + i
		if i%2 == 0 {
			scale = l.scale(r, l.field(scales, sub%2*6+i/2*3, 7))
		}
		l.addShifted(r, g, l.entry(r, g, high, 4*i, 7), l.field(high, 4*i+3, 1), scale)
	}
}
