package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// The formats of low8grid.go with AVX-512 and VNNI: two sub-blocks at a time, whose signs are a mask.

func (f grid8) begin512(g *gen, _ shape) func(*loop) {
	book, stack := g.byteBook(f.Type), g.AllocLocal(2*gridStack)
	orders, other := g.quarters(), g.ZMM() // what signs are taken from, or shifts take off
	if f.shifted() {
		g.VMOVDQU32(g.bytes("twosx64", repeat(64, byte(2))...), other)
	} else {
		g.VPXORD(other, other, other)
	}
	now, next := g.base(stack), g.base(stack.Offset(gridStack))
	f.unpack(&gridBlock{gen: g, grid8: f, isa: avx512, block: g.param("w"), stack: at(now, 0)})
	return func(l *loop) {
		f.unpackNext(l, next)
		b := &gridBlock{gen: g, grid8: f, isa: avx512, block: l.rows[0].block, book: book, stack: at(now, 0)}
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
		g.XCHGQ(now, next)
	}
}
