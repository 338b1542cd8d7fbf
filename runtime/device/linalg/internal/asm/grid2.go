package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// grid is the loop of a format with a code book, for AVX2. unit is what the scales of its sub-blocks, odd
// numbers, are multiplied by, with d. Books and signs are tables of package linalg: 32 bytes are the floats of eight
// values, or what an exclusive or negates eight floats with.
type grid struct {
	quant.Type
	unit float32
	// walks are how far the fields of both halves of a block lie apart: each field has one of these. The first is
	// how the pointer to the block moves.
	walks []int
	sub   func(l *gridLoop, sub int) // emits a part of 32 elements of a half, of which there are four
}

// gridLoop is the state of such a loop: its tables, and d times the unit.
type gridLoop struct {
	*loop
	book, signs, odd, shifts reg.Register
	d                        reg.VecVirtual
	fields                   map[int]reg.Register // by how they walk
}

func (f grid) begin(g *gen, _ shape) func(*loop) {
	l := gridLoop{book: g.variable("book" + bookName(f.Type)), odd: g.base(g.floats("odd", oddNumbers()...))}
	switch f.Type {
	case quant.IQ2_XXS, quant.IQ2_XS, quant.IQ3_XXS:
		l.signs = g.variable("evenSigns")
	case quant.IQ2_S, quant.IQ3_S:
		l.signs = g.variable("allSigns")
	default:
		l.shifts = g.base(g.floats("shifts", 0.125, -0.125))
	}
	unit := g.floats("unit"+f.Type.String(), repeat(8, f.unit)...)
	return func(loop *loop) {
		l.loop = loop
		if f.Type == quant.IQ1_M {
			l.d = g.spreadHalf(at(l.rows[0].block, 48))
		} else {
			l.d = g.half2(at(l.rows[0].block, 0))
		}
		g.VMULPS(unit, l.d, l.d)
		l.fields = map[int]reg.Register{f.walks[0]: l.rows[0].block}
		for _, walk := range f.walks[1:] {
			l.fields[walk] = g.copyOf(l.rows[0].block)
		}
		l.repeat(2, f.walks[0], 16, func() {
			l.loadX(0, 16)
			for sub := range 4 {
				f.sub(&l, sub)
			}
			for _, walk := range f.walks[1:] {
				l.addTo(l.fields[walk], walk)
			}
		})
	}
}

// formatName is a format's name in those of functions, and bookName that of its code book in those of tables.
func formatName(t quant.Type) string { return strings.ToUpper(t.String()) }

func bookName(t quant.Type) string {
	if t == quant.IQ1_S || t == quant.IQ1_M {
		return "IQ1"
	}
	return formatName(t)
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

// field is a place in a block: offset bytes from where those that walk so are.
type field struct{ walk, offset int }

func (f field) plus(n int) field { return field{f.walk, f.offset + n} }

func (l *gridLoop) mem(f field) operand.Mem { return at(l.fields[f.walk], f.offset) }

// byteAt and wordAt return the byte, or the 16 bits, of a field.
func (l *gridLoop) byteAt(f field) reg.GPVirtual {
	v := l.GP64()
	l.MOVBQZX(l.mem(f), v)
	return v
}

func (l *gridLoop) wordAt(f field) reg.GPVirtual {
	v := l.GP64()
	l.MOVWQZX(l.mem(f), v)
	return v
}

// bits returns the bits of mask at bit shift of v, moved up by some bits.
func (l *gridLoop) bits(v reg.GPVirtual, shift int, mask uint32, up int) reg.GPVirtual {
	f := l.GP64()
	l.MOVL(v.As32(), f.As32())
	switch {
	case shift > up:
		l.SHRL(operand.U8(shift-up), f.As32())
	case shift < up:
		l.SHLL(operand.U8(up-shift), f.As32())
	}
	l.ANDL(operand.U32(mask<<up), f.As32())
	return f
}

// scaled returns v moved up by some bits, in the same register.
func (l *gridLoop) scaled(v reg.GPVirtual, up int) reg.GPVirtual {
	l.SHLL(operand.U8(up), v.As32())
	return v
}

// entry returns the byte of a field with the bits of mask at bit shift of high above it, times the size of an entry
// of the book.
func (l *gridLoop) entry(f field, high reg.GPVirtual, shift int, mask uint32, up int) reg.GPVirtual {
	low, e := l.scaled(l.byteAt(f), up), l.bits(high, shift, mask, 8+up)
	l.ORL(low.As32(), e.As32())
	return e
}

// The sizes of entries and of signs, as shifts.
const eightFloats, fourFloats = 5, 4

// scale returns the factor of the scale s.
func (l *gridLoop) scale(s reg.GPVirtual) reg.VecVirtual {
	v := l.broadcast2(operand.Mem{Base: l.odd, Index: s, Scale: 4})
	l.VMULPS(l.d, v, v)
	return v
}

// signed returns a scale with the signs at an offset of their table.
func (l *gridLoop) signed(scale reg.VecVirtual, signs reg.GPVirtual) reg.VecVirtual {
	v := l.YMM()
	l.VXORPS(operand.Mem{Base: l.signs, Index: signs, Scale: 1}, scale, v)
	return v
}

// addEight adds eight weights: an entry of a book of eight values times a scale with signs.
func (l *gridLoop) addEight(eight int, entry reg.GPVirtual, scale reg.VecVirtual) {
	l.VMULPS(operand.Mem{Base: l.book, Index: entry, Scale: 1}, scale, scale)
	l.add(l.rows[0], eight, scale)
}

// addFours does the same with two entries of a book of four values.
func (l *gridLoop) addFours(eight int, first, second reg.GPVirtual, scale reg.VecVirtual) {
	v := l.YMM()
	l.VBROADCASTF128(operand.Mem{Base: l.book, Index: first, Scale: 1}, v)
	l.VINSERTF128(operand.U8(1), operand.Mem{Base: l.book, Index: second, Scale: 1}, v, v)
	l.VMULPS(v, scale, scale)
	l.add(l.rows[0], eight, scale)
}

// addShifted adds eight weights of IQ1: a scale times the values of an entry, plus the scale times the shift.
func (l *gridLoop) addShifted(eight int, entry reg.GPVirtual, scale, common reg.VecVirtual) {
	w := l.YMM()
	l.VMOVAPS(scale, w)
	l.VFMADD132PS(operand.Mem{Base: l.book, Index: entry, Scale: 1}, common, w)
	l.add(l.rows[0], eight, w)
}

// shift returns a scale times the shift whose number is in a register.
func (l *gridLoop) shift(scale reg.VecVirtual, number reg.GPVirtual) reg.VecVirtual {
	v := l.broadcast2(operand.Mem{Base: l.shifts, Index: number, Scale: 4})
	l.VMULPS(scale, v, v)
	return v
}

// scalePair returns a function with the scales of the first and the second two eights: nibbles of the byte of a field.
func (l *gridLoop) scalePair(f field) func(i int) reg.VecVirtual {
	nibbles := l.byteAt(f)
	var scale reg.VecVirtual
	return func(i int) reg.VecVirtual {
		if i%2 == 0 {
			scale = l.scale(l.bits(nibbles, 2*i, 15, 0))
		}
		return scale
	}
}

func (l *gridLoop) iq2_XXS(sub int) {
	signs, qs := l.GP64(), field{32, 2 + 8*sub}
	l.MOVL(l.mem(qs.plus(4)), signs.As32())
	scale := l.scale(l.bits(signs, 28, 15, 0))
	for i := range 4 {
		entry := l.scaled(l.byteAt(qs.plus(i)), eightFloats)
		l.addEight(4*sub+i, entry, l.signed(scale, l.bits(signs, 7*i, 127, eightFloats)))
	}
}

func (l *gridLoop) iq2_XS(sub int) {
	scale := l.scalePair(field{4, 66 + sub})
	for i := range 4 {
		q := l.wordAt(field{32, 2 + 8*sub + 2*i})
		l.addEight(4*sub+i, l.bits(q, 0, 511, eightFloats), l.signed(scale(i), l.bits(q, 9, 127, eightFloats)))
	}
}

func (l *gridLoop) iq2_S(sub int) {
	high, scale := l.byteAt(field{4, 66 + sub}), l.scalePair(field{4, 74 + sub})
	for i := range 4 {
		qs := field{16, 2 + 4*sub + i}
		l.addEight(4*sub+i, l.entry(qs, high, 2*i, 3, eightFloats), l.signed(scale(i), l.scaled(l.byteAt(qs.plus(32)), eightFloats)))
	}
}

func (l *gridLoop) iq3_XXS(sub int) {
	signs := l.GP64()
	l.MOVL(l.mem(field{16, 66 + 4*sub}), signs.As32())
	scale := l.scale(l.bits(signs, 28, 15, 0))
	for i := range 4 {
		qs := field{32, 2 + 8*sub + 2*i}
		first, second := l.scaled(l.byteAt(qs), fourFloats), l.scaled(l.byteAt(qs.plus(1)), fourFloats)
		l.addFours(4*sub+i, first, second, l.signed(scale, l.bits(signs, 7*i, 127, eightFloats)))
	}
}

func (l *gridLoop) iq3_S(sub int) {
	high, scale := l.byteAt(field{4, 66 + sub}), l.scale(l.bits(l.byteAt(field{2, 106 + sub/2}), sub%2*4, 15, 0))
	for i := range 4 {
		qs := field{32, 2 + 8*sub + 2*i}
		first, second := l.entry(qs, high, 2*i, 1, fourFloats), l.entry(qs.plus(1), high, 2*i+1, 1, fourFloats)
		l.addFours(4*sub+i, first, second, l.signed(scale, l.scaled(l.byteAt(field{16, 74 + 4*sub + i}), eightFloats)))
	}
}

func (l *gridLoop) iq1_S(sub int) {
	high := l.wordAt(field{8, 34 + 2*sub})
	scale := l.scale(l.bits(high, 12, 7, 0))
	common := l.shift(scale, l.bits(high, 15, 1, 0))
	for i := range 4 {
		l.addShifted(4*sub+i, l.entry(field{16, 2 + 4*sub + i}, high, 3*i, 7, eightFloats), scale, common)
	}
}

func (l *gridLoop) iq1_M(sub int) {
	high, scales := l.wordAt(field{8, 32 + 2*sub}), l.wordAt(field{4, 48 + sub/2*2})
	var scale reg.VecVirtual
	for i := range 4 {
		if i%2 == 0 {
			scale = l.scale(l.bits(scales, sub%2*6+i/2*3, 7, 0))
		}
		l.addShifted(4*sub+i, l.entry(field{16, 4*sub + i}, high, 4*i, 7, eightFloats), scale, l.shift(scale, l.bits(high, 4*i+3, 1, 0)))
	}
}
