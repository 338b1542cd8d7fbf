package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// iq4_XSx2 is the loop of IQ4_XS. It keeps the 8 scales of a block as floats on the stack.
func iq4_XSx2(g *gen, t shape) func(*loop) {
	low, masks := g.constant2(t, g.bytes("mask15", repeat(64, byte(15))...)), g.byteMasks(t)
	table := g.byteTable(t, &levels)
	scales := g.AllocLocal(32 * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			g.VMOVUPS(g.scalesIQ4_XS(avx2, row.block), scales.Offset(32*r))
		}
		for sub := range 8 {
			l.partials(func(p *partial) {
				q := p.each(func(_ int, row row) reg.VecVirtual {
					q := g.nibbles(at(row.block, 8+16*sub))
					g.VPAND(low, q, q)
					g.lookup2(table, q)
					return q
				})
				p.begin(sub)
				p.addBytes(sub, q, masks)
				p.fold(sub, func(r int, _ row) reg.VecVirtual { return g.broadcast2(scales.Offset(32*r + 4*sub)) }, nil)
			})
		}
	}
}

// scalesIQ4_XS returns the block's eight scales as floats: d·(scale - 32).
func (g *gen) scalesIQ4_XS(v isa, block reg.Register) reg.VecVirtual {
	scales := g.wordsIQ4_XS(v, block)
	g.VCVTDQ2PS(scales, scales)
	g.VMULPS(g.half2(at(block, 0)), scales, scales)
	return scales
}

// wordsIQ4_XS returns the block's eight scales, less 32, as dwords. ggml's block_iq4_xs has d in bytes
// 0–1, and then
//
//	bytes 2–3  bits 2s and 2s+1: bits 4–5 of scale s
//	bytes 4–7  bits 4s to 4s+3: bits 0–3 of scale s
//
// The loads are dwords; the one at byte 2 has other data above its 16 bits.
func (g *gen) wordsIQ4_XS(v isa, block reg.Register) reg.VecVirtual {
	low, high := g.YMM(), g.YMM()
	g.VPBROADCASTD(at(block, 4), low)
	g.VPSRLVD(g.dwords("shifts4", 0, 4, 8, 12, 16, 20, 24, 28), low, low)
	v.and(g, g.dwords("dwords15", repeat(8, uint32(15))...), low, low)
	g.VPBROADCASTD(at(block, 2), high)
	g.VPSRLVD(g.dwords("shifts2", 0, 2, 4, 6, 8, 10, 12, 14), high, high)
	v.and(g, g.dwords("dwords3", repeat(8, uint32(3))...), high, high)
	g.VPSLLD(operand.U8(4), high, high)
	v.or(g, high, low, low)
	g.VPSUBD(g.dwords("dwords32", repeat(8, uint32(32))...), low, low)
	return low
}
