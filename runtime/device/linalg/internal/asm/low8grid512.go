package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// The formats of low8grid.go, for AVX-512 with VNNI. A register has two sub-blocks. Their 64 signs
// are a mask register.

// begin8x512 is format.begin of the loops over bytes. Loops take one row (format.alone).
func (f grid) begin8x512(g *gen, t shape) func(*loop) {
	orders, other := g.quarters(), g.ZMM() // other: 0, from which inputs with a sign are subtracted, or 2, which a shift subtracts from codes
	if f.shifted() {
		g.VMOVDQU32(g.bytes("twosx64", repeat(64, byte(2))...), other)
	} else {
		g.VPXORD(other, other, other)
	}
	return f.blocks(gridBlock{gen: g, grid: f, isa: avx512, book: g.byteBook(f.Type)}, t, func(l *loop, rows []*gridBlock) {
		b := rows[0]
		scales, sums := g.both512(b.stack.Offset(gridScales)), l.superSums()
		for pair, order := range orders {
			codes, scale, signs := g.ZMM(), g.ZMM(), g.K()
			b.sub = 2 * pair
			low := b.entries()
			b.sub++
			g.VINSERTI64X4(operand.U8(1), b.entries(), low.AsZ(), codes)
			from := b.signsAt()
			from.Disp -= 4
			g.KMOVQ(from, signs)
			if f.shifted() {
				g.VPSUBB(other, codes, signs, codes)
			}
			g.VPERMW(scales, order, scale)
			for j, input := range l.inputs {
				x := g.load512(at(input, 64*pair))
				if !f.shifted() {
					g.VPSUBB(x, other, signs, x)
				}
				g.VPMADDUBSW(x, codes, x)
				g.vnni("VPDPWSSD", scale, x, sums[0][j])
			}
		}
		if f.shifted() {
			sums.subtract(l, func(int) operand.Mem { return b.stack }, 4, false)
		}
		sums.finish(l, func(int) operand.Mem { return b.stack.Offset(gridFactor) }, noMinima)
	})
}
