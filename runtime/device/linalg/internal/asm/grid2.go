package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// Formats with a code book, for AVX2 and inputs of floats. The books are variables of package linalg with
// float32 values, so that one load brings a whole entry.

// begin is format.begin of the loops over floats.
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

// addFloats adds the current sub-block of a row, eight elements at a time. toSign and sign serve formats with
// signs: a set bit selects the negated scale. They are not used for shifted formats.
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

// scaleAt returns the memory of the float32 scale of the i-th eight elements of the current sub-block.
func (b *gridBlock) scaleAt(i int) operand.Mem {
	if b.halfs {
		return b.stack.Offset(gridScales + 8*b.sub + 2*i)
	}
	return b.stack.Offset(gridScales + 4*b.sub)
}

// entryAt returns the memory of the block's i-th entry of floats. The word on the stack is the entry's byte offset.
func (b *gridBlock) entryAt(i int) operand.Mem {
	return operand.Mem{Base: b.book, Index: b.wordAt(gridNumbers + 2*i), Scale: 1}
}

// wordAt loads a word from a byte offset of the block's stack.
func (b *gridBlock) wordAt(offset int) reg.GPVirtual {
	n := b.GP64()
	b.MOVWQZX(b.stack.Offset(offset), n)
	return n
}

// entryShift returns log2 of the bytes of an entry of floats.
func (f grid) entryShift() int {
	if f.four {
		return fourFloats
	}
	return eightFloats
}

// formatName returns the format's name for the names of functions.
func formatName(t quant.Type) string { return strings.ToUpper(t.String()) }

// bookName returns the code book's name for the names of variables: IQ1_S and IQ1_M share one.
func bookName(t quant.Type) string {
	if t == quant.IQ1_S || t == quant.IQ1_M {
		return "IQ1"
	}
	return formatName(t)
}

// base returns a register with the address of m.
func (g *gen) base(m operand.Mem) reg.GPVirtual {
	r := g.GP64()
	g.LEAQ(m, r)
	return r
}

// spreadHalf returns the float16 of an IQ1_M block as float32, in all lanes. Its four nibbles are bits
// 12–15 of the four words at m, the lowest nibble first.
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
