package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Formats below four bits times bytes, with AVX2: K-quants and TQ2_0, whose codes of two bits are bytes as soon as they
// are shifted and masked. Sums of two products of such codes stay far within 16 bits. Formats with code books have no
// loops here: what takes their time is to look entries up.
var int8FormatsLow2 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_K8, folded: true, int8: super8, together: 2},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_K8, folded: true, int8: super8, together: 2},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_08, folded: true, int8: super8, together: 2},
}

// twoBits returns elements 32·group and on of codes of two bits after an offset, see pairs2, as bytes.
func (g *gen) twoBits(block reg.Register, offset, group int, mask operand.Op) reg.VecVirtual {
	q := g.YMM()
	g.VMOVDQU(at(block, offset+32*(group/4)), q)
	if k := group % 4; k > 0 {
		g.VPSRLW(operand.U8(2*k), q, q)
	}
	g.VPAND(mask, q, q)
	return q
}

// wordOfHalf is the order that leaves word 0 in the lower half of a register whose dwords are the same, and word 1 in the
// upper one.
func (g *gen) wordOfHalf() operand.Mem {
	var of []byte
	for i := range 32 {
		of = append(of, byte(i%2+2*(i/16)))
	}
	return g.bytes("wordOfHalf", of...)
}

// halvesScaled adds the eight groups of 32 elements to partial sums: those of either half of a register times a word of
// their row's 16 scales, which are in memory.
func (p *partial) halvesScaled(scales func(r int) operand.Mem, codes func(row row, group int) reg.VecVirtual) {
	halves := p.wordOfHalf()
	for group := range 8 {
		q := p.each(func(_ int, row row) reg.VecVirtual { return codes(row, group) })
		p.addScaled(group, q, p.each(func(r int, _ row) reg.VecVirtual {
			s := p.broadcast2(scales(r).Offset(4 * group))
			p.VPSHUFB(halves, s, s)
			return s
		}))
	}
}

// centre takes what codes count from, 2^shift, times the words of scales for every 16 inputs, from the partial sums.
func (p *partial) centre(shift uint8, scales func(r int) operand.Mem) {
	for r := range p.rows {
		for j, input := range p.inputs {
			t := p.load2(at(input, p.arranged.sumAt(0)))
			p.VPMADDWD(scales(p.first()+r), t, t)
			if shift > 0 {
				p.VPSLLD(operand.U8(shift), t, t)
			}
			p.VPSUBD(t, p.sums[r][j], p.sums[r][j])
		}
	}
}

// q2_K8 is the loop of Q2_K. A row has 96 bytes of the stack: its scales and its minima as words, and the factors of
// both.
func q2_K8(g *gen, t shape) func(*loop) {
	three, low := g.constant2(t, g.bytes("mask3", repeat(32, byte(3))...)), g.bytes("mask15", repeat(64, byte(15))...)
	const size = 96
	stack := g.AllocLocal(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			for i := range 2 {
				words, d := g.YMM(), g.half2(at(row.block, 80+2*i))
				g.VMOVDQU(at(row.block, 0), words.AsX())
				if i == 1 {
					g.VPSRLW(operand.U8(4), words.AsX(), words.AsX())
				}
				g.VPAND(low, words.AsX(), words.AsX())
				g.VPMOVZXBW(words.AsX(), words)
				g.VMOVUPS(words, stack.Offset(size*r+32*i))
				g.VMOVSS(d.AsX(), stack.Offset(size*r+64+4*i))
			}
		}
		l.partials(func(p *partial) {
			p.halvesScaled(func(r int) operand.Mem { return stack.Offset(size * r) }, func(row row, group int) reg.VecVirtual {
				return g.twoBits(row.block, 16, group, three)
			})
			p.foldBlock(
				func(r int) operand.Mem { return stack.Offset(size*r + 64) },
				func(r int) *minima { return &minima{stack.Offset(size*r + 68), stack.Offset(size*r + 32)} })
		})
	}
}

// q3_K8 is the loop of Q3_K. A row has 64 bytes of the stack: its scales as words, and after them the factor of all.
func q3_K8(g *gen, t shape) func(*loop) {
	three, four := g.constant2(t, g.bytes("mask3", repeat(32, byte(3))...)), g.constant2(t, g.bytes("mask4", repeat(32, byte(4))...))
	const size = 64
	stack := g.AllocLocal(size * t.rows)
	scales := func(r int) operand.Mem { return stack.Offset(size * r) }
	return func(l *loop) {
		for r, row := range l.rows {
			words := g.YMM()
			g.VPMOVSXBW(g.scalesQ3_K(avx2, row.block).AsX(), words)
			g.VMOVUPS(words, scales(r))
			g.VMOVSS(g.half2(at(row.block, 108)).AsX(), scales(r).Offset(32))
		}
		l.partials(func(p *partial) {
			p.halvesScaled(scales, func(row row, group int) reg.VecVirtual {
				q, third := g.twoBits(row.block, 32, group, three), g.YMM()
				g.VMOVDQU(at(row.block, 0), third)
				switch { // bit group to bit 2
				case group < 2:
					g.VPSLLW(operand.U8(2-group), third, third)
				case group > 2:
					g.VPSRLW(operand.U8(group-2), third, third)
				}
				g.VPAND(four, third, third)
				g.VPOR(third, q, q)
				return q
			})
			p.centre(2, scales)
			p.foldBlock(func(r int) operand.Mem { return scales(r).Offset(32) }, noMinima)
		})
	}
}

// tq2_08 is the loop of TQ2_0: without scales, all products of a block are summed in 16 bits. A row has its factor on the
// stack.
func tq2_08(g *gen, t shape) func(*loop) {
	three := g.constant2(t, g.bytes("mask3", repeat(32, byte(3))...))
	const size = 32
	stack := g.AllocLocal(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			g.VMOVSS(g.half2(at(row.block, 64)).AsX(), stack.Offset(size*r))
		}
		l.partials(func(p *partial) {
			for group := range 8 {
				p.addProducts(group, p.each(func(_ int, row row) reg.VecVirtual {
					return g.twoBits(row.block, 0, group, three)
				}))
			}
			for r := range p.rows {
				for _, sum := range p.sums[r] {
					p.VPMADDWD(p.ones16(), sum, sum)
				}
			}
			p.centre(0, func(int) operand.Mem { return g.ones16() })
			p.foldBlock(func(r int) operand.Mem { return stack.Offset(size * r) }, noMinima)
		})
	}
}
