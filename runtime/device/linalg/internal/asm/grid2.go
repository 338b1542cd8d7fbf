package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// Formats with a code book for inputs of floats, with AVX2. Books are tables of package linalg: as floats an entry is a
// load and nothing else.

func (f grid) begin(g *gen, t shape) func(*loop) {
	b := gridBlock{gen: g, grid: f, isa: avx2, floats: true, book: g.variable("book" + bookName(f.Type))}
	var toSign [4]reg.VecVirtual
	var sign reg.VecVirtual
	if !f.shifted() {
		toSign, sign = g.toSign(), g.load2(g.dwords("signs", repeat(8, uint32(1<<31))...))
	}
	return f.blocks(b, t, func(l *loop, rows []*gridBlock) {
		for sub := range 8 {
			l.loadX(4*sub, 4)
			for r, b := range rows {
				b.sub = sub
				b.addFloats(l, l.rows[r], toSign, sign)
			}
		}
	})
}

// addFloats adds a sub-block of a row.
func (b *gridBlock) addFloats(l *loop, row row, toSign [4]reg.VecVirtual, sign reg.VecVirtual) {
	var bits, scale, minus, shift reg.VecVirtual
	if !b.shifted() {
		bits = b.broadcast2(b.signsAt())
	}
	for i := range 4 {
		eight := 4*b.sub + i
		if i == 0 || b.halfs && i == 2 {
			scale = b.broadcast2(b.scaleAt(i))
			if !b.shifted() {
				minus = b.YMM()
				b.VXORPS(sign, scale, minus)
			}
		}
		w := b.YMM()
		switch {
		case b.shifted():
			if i == 0 || b.halfs {
				shift = b.broadcast2(b.stack.Offset(gridSigns + 4*eight))
			}
			b.VADDPS(b.entryAt(eight), shift, w)
			b.VMULPS(scale, w, w)
		case b.four:
			v := b.YMM()
			b.VPSLLVD(toSign[i], bits, w)
			b.VBLENDVPS(w, minus, scale, w)
			b.VBROADCASTF128(b.entryAt(2*eight), v)
			b.VINSERTF128(operand.U8(1), b.entryAt(2*eight+1), v, v)
			b.VMULPS(v, w, w)
		default:
			b.VPSLLVD(toSign[i], bits, w)
			b.VBLENDVPS(w, minus, scale, w)
			b.VMULPS(b.entryAt(eight), w, w)
		}
		l.add(row, eight, w)
	}
}

// scaleAt is where the scale of eight i of a sub-block is, as a float.
func (b *gridBlock) scaleAt(i int) operand.Mem {
	if b.halfs {
		return b.stack.Offset(gridScales + 8*b.sub + 2*i)
	}
	return b.stack.Offset(gridScales + 4*b.sub)
}

// entryAt is where an entry of floats is, and wordAt a word on the stack.
func (b *gridBlock) entryAt(i int) operand.Mem {
	return operand.Mem{Base: b.book, Index: b.wordAt(gridNumbers + 2*i), Scale: 1}
}

func (b *gridBlock) wordAt(offset int) reg.GPVirtual {
	n := b.GP64()
	b.MOVWQZX(b.stack.Offset(offset), n)
	return n
}

// entryShift is the size of an entry of floats, as a shift.
func (f grid) entryShift() int {
	if f.four {
		return fourFloats
	}
	return eightFloats
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
