package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// The formats below four bits, a block a step. Weights are decoded to floats and multiplied as
// they are: their sums have the bits of those of rows of floats, which is what many inputs are
// multiplied by.
var formatsLow2 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_Kx2, few: true},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_Kx2, few: true},
	{name: "IQ2_XXS", elems: 256, bytes: 66, begin: grid{quant.IQ2_XXS, 1.0 / 8, (*gridLoop).iq2_XXS}.begin, few: true},
	{name: "IQ2_XS", elems: 256, bytes: 74, begin: grid{quant.IQ2_XS, 1.0 / 8, (*gridLoop).iq2_XS}.begin, few: true},
	{name: "IQ2_S", elems: 256, bytes: 82, begin: grid{quant.IQ2_S, 1.0 / 8, (*gridLoop).iq2_S}.begin, few: true},
	{name: "IQ3_XXS", elems: 256, bytes: 98, begin: grid{quant.IQ3_XXS, 1.0 / 4, (*gridLoop).iq3_XXS}.begin, few: true},
	{name: "IQ3_S", elems: 256, bytes: 110, begin: grid{quant.IQ3_S, 1, (*gridLoop).iq3_S}.begin, few: true},
	{name: "IQ1_S", elems: 256, bytes: 50, begin: grid{quant.IQ1_S, 1, (*gridLoop).iq1_S}.begin, few: true},
	{name: "IQ1_M", elems: 256, bytes: 56, begin: grid{quant.IQ1_M, 1, (*gridLoop).iq1_M}.begin, few: true},
}

// pairs2 emits the bytes of 32 elements 32·(4h+k) of rows whose bit pairs begin at an offset, and then
// what adds these elements: finish makes a weight of eight numbers, which are dwords, of sub-block s.
func (l *loop) pairs2(offset int, three, bytes operand.Mem, third func(q reg.VecVirtual, row row, h, k int), finish func(r, s int, q reg.VecVirtual)) {
	for group := range 8 {
		h, k := group/4, group%4
		l.loadX(4*group, 4)
		for r, row := range l.rows {
			q := l.YMM()
			l.VMOVDQU(at(row.block, offset+32*h), q)
			if k > 0 {
				l.VPSRLW(operand.U8(2*k), q, q)
			}
			l.VPAND(three, q, q)
			if third != nil {
				third(q, row, h, k)
			}
			l.VMOVDQU(q, bytes)
			for i := range 4 {
				v := l.YMM()
				l.VPMOVSXBD(bytes.Offset(8*i), v)
				l.VCVTDQ2PS(v, v)
				finish(r, 2*group+i/2, v)
				l.add(row, 4*group+i, v)
			}
		}
	}
}

// q2_Kx2 keeps a row's scales and minima as floats on the stack, and the bytes of 32 elements after
// those of all rows.
func q2_Kx2(g *gen, t shape) func(*loop) {
	three := g.bytes("mask3", repeat(32, byte(3))...)
	low := g.bytes("mask15", repeat(64, byte(15))...)
	const size = 128
	stack := g.AllocLocal(size*t.rows + 32)
	return func(l *loop) {
		for r, row := range l.rows {
			for i, offset := range []int{80, 82} { // of d and dmin
				d, q := g.half2(at(row.block, offset)), g.XMM()
				g.VMOVDQU(at(row.block, 0), q)
				if i == 1 {
					g.VPSRLW(operand.U8(4), q, q)
				}
				g.VPAND(low, q, q)
				g.keepScales(q, d, stack.Offset(size*r+64*i))
			}
		}
		l.pairs2(16, three, stack.Offset(size*t.rows), nil, func(r, s int, q reg.VecVirtual) {
			minimum := g.broadcast2(stack.Offset(size*r + 64 + 4*s))
			g.VFMSUB132PS(g.broadcast2(stack.Offset(size*r+4*s)), minimum, q)
		})
	}
}

// keepScales stores 16 signed bytes times d as floats.
func (g *gen) keepScales(q, d reg.VecVirtual, to operand.Mem) {
	for i := range 2 {
		s := g.widen(q)
		g.VMULPS(d, s, s)
		g.VMOVUPS(s, to.Offset(32*i))
		g.VPSRLDQ(operand.U8(8), q, q)
	}
}

// q3_Kx2 keeps a row's scales as q2_Kx2 does.
func q3_Kx2(g *gen, t shape) func(*loop) {
	three := g.bytes("mask3", repeat(32, byte(3))...)
	four := g.bytes("mask4", repeat(32, byte(4))...)
	low := g.bytes("mask15", repeat(64, byte(15))...)
	const size = 64
	stack := g.AllocLocal(size*t.rows + 32)
	return func(l *loop) {
		for r, row := range l.rows {
			q, high := g.XMM(), g.XMM()
			g.VMOVQ(at(row.block, 96), q)
			g.VPSRLW(operand.U8(4), q, high)
			g.VPUNPCKLQDQ(high, q, q)
			g.VPAND(low, q, q)
			// Dword j has the upper bits of scales 4j to 4j+3 at bit 2j of each byte.
			g.VPBROADCASTD(at(row.block, 104), high)
			g.VPSRLVD(g.dwords("shifts2", 0, 2, 4, 6, 8, 10, 12, 14), high, high)
			g.VPAND(three, high, high)
			g.VPSLLW(operand.U8(4), high, high)
			g.VPOR(high, q, q)
			g.VPSUBB(g.bytes("bytes32", repeat(16, byte(32))...), q, q)
			g.keepScales(q, g.half2(at(row.block, 108)), stack.Offset(size*r))
		}
		l.pairs2(32, three, stack.Offset(size*t.rows), func(q reg.VecVirtual, row row, h, k int) {
			third, bit := g.YMM(), 4*h+k
			g.VMOVDQU(at(row.block, 0), third)
			switch { // to bit 2
			case bit < 2:
				g.VPSLLW(operand.U8(2-bit), third, third)
			case bit > 2:
				g.VPSRLW(operand.U8(bit-2), third, third)
			}
			g.VPAND(four, third, third)
			g.VPOR(third, q, q)
			g.VPSUBB(four, q, q)
		}, func(r, s int, q reg.VecVirtual) {
			g.VMULPS(g.broadcast2(stack.Offset(size*r+4*s)), q, q)
		})
	}
}
