package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8FormatsLow2 are the formats below four bits, and NVFP4, times bytes, with AVX2, whose codes become bytes after a
// few instructions. Sums of two products of such codes stay far within 16 bits. low8grid.go has the formats with code
// books.
var int8FormatsLow2 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_K8, folded: true, int8: super8, together: 2},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_K8, folded: true, int8: super8, together: 2},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_08, folded: true, int8: super8, together: 2},
	{name: "TQ1_0", elems: 256, bytes: 54, begin: tq1_08, folded: true, int8: super8, together: 2},
	{name: "Q1_0", elems: 128, bytes: 18, begin: q1_08, folded: true, int8: pairs8, together: 2},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_08, folded: true, int8: pairs8, together: 2},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp48(0), folded: true, int8: signedSingle8, together: 2},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp48(4), folded: true, int8: signedSingle8, together: 2},
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

// evenOdd leaves the even words of a register in its lower half, and the odd ones in the upper half.
func (g *gen) evenOdd(v reg.VecVirtual) {
	var order []byte
	for i := range 32 {
		order = append(order, byte(i%16/8*2+i%8/2*4+i%2))
	}
	g.VPSHUFB(g.bytes("evenOdd", order...), v, v)
	g.VPERMQ(operand.U8(0xd8), v, v)
}

// wordOfEach is the order that leaves word n of either half of a register everywhere in that half.
func (g *gen) wordOfEach(n int) operand.Mem {
	var order []byte
	for i := range 32 {
		order = append(order, byte(2*n+i%2))
	}
	return g.bytes(fmt.Sprintf("wordOfEach%d", n), order...)
}

// halvesScaled adds the eight groups of 32 elements to partial sums: those of either half of a register times a word of
// their row's 16 scales.
func (p *partial) halvesScaled(scales *wordScales, order [8]int, codes func(row row, group int) reg.VecVirtual) {
	parts := []*partial{p}
	if len(p.inputs) == 1 && order != ascending { // row by row: what groups share takes registers, as scales do
		parts = nil
		for k := range p.rows {
			parts = append(parts, &partial{loop: p.loop, rows: p.rows[k : k+1], sums: p.sums[k : k+1]})
		}
	}
	for _, group := range order {
		for _, p := range parts {
			q := p.each(func(_ int, row row) reg.VecVirtual { return codes(row, group) })
			p.addScaled(group, q, p.each(func(r int, _ row) reg.VecVirtual { return scales.of(r, group) }))
		}
	}
}

// ascending is the order of groups, but where some share what their codes are made of.
var ascending = [8]int{0, 1, 2, 3, 4, 5, 6, 7}

// wordScales are the 16 scales of rows: in memory, and for one input in registers, too, as evenOdd leaves them. Several
// inputs need the registers.
type wordScales struct {
	*loop
	at   func(r int) operand.Mem
	kept []reg.VecVirtual
}

// keep takes the scales of the next row, whose register it changes.
func (w *wordScales) keep(v reg.VecVirtual) {
	w.VMOVUPS(v, w.at(len(w.kept)))
	if len(w.inputs) == 1 {
		w.evenOdd(v)
	}
	w.kept = append(w.kept, v)
}

// of returns the scales of a group, each in half of a register.
func (w *wordScales) of(r, group int) reg.VecVirtual {
	if len(w.inputs) > 1 {
		s := w.broadcast2(w.at(r).Offset(4 * group))
		w.VPSHUFB(w.wordOfHalf(), s, s)
		return s
	}
	s := w.YMM()
	w.VPSHUFB(w.wordOfEach(group), w.kept[r], s)
	return s
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
	at := func(r, offset int) operand.Mem { return stack.Offset(size*r + offset) }
	return func(l *loop) {
		scales := &wordScales{loop: l, at: func(r int) operand.Mem { return at(r, 0) }}
		for r, row := range l.rows {
			var words [2]reg.VecVirtual // of scales and minima
			for i := range words {
				words[i] = g.YMM()
				g.VMOVDQU(row.at(0), words[i].AsX())
				if i == 1 {
					g.VPSRLW(operand.U8(4), words[i].AsX(), words[i].AsX())
				}
				g.VPAND(low, words[i].AsX(), words[i].AsX())
				g.VPMOVZXBW(words[i].AsX(), words[i])
			}
			scales.keep(words[0])
			g.VMOVUPS(words[1], at(r, 32))
			d := g.XMM()
			g.VMOVD(row.at(80), d)
			g.VCVTPH2PS(d, d)
			g.VMOVQ(d, at(r, 64))
		}
		l.partials(func(p *partial) {
			p.halvesScaled(scales, ascending, func(row row, group int) reg.VecVirtual { return g.twoBits(row.block, 16, group, three) })
			p.foldBlock(
				func(r int) operand.Mem { return at(r, 64) },
				func(r int) *minima { return &minima{at(r, 68), at(r, 32)} })
		})
	}
}

// q3_K8 is the loop of Q3_K. The codes of two groups are made in the two halves of bytes: two bits, and above them the
// third one, which a table brings there from four of them.
func q3_K8(g *gen, t shape) func(*loop) {
	// In memory: the scales of four rows take the registers.
	low, pairs, seven := g.bytes("mask15", repeat(64, byte(15))...), g.bytes("mask3each4", repeat(32, byte(0x33))...), g.bytes("mask7", repeat(32, byte(7))...)
	var thirds [2]operand.Mem // of groups 0 and 2 of four, and of 1 and 3
	for i := range thirds {
		var b []byte
		for n := range 32 {
			b = append(b, byte(n>>i&1<<2|n>>(i+2)&1<<6))
		}
		thirds[i] = g.bytes(fmt.Sprintf("thirdBits%d", i), b...)
	}
	halves := map[reg.Register]reg.VecVirtual{} // codes of two groups, by the block
	return g.signedWords8(t, func(row row) (words reg.VecVirtual, d operand.Mem) {
		words = g.YMM()
		g.VPMOVSXBW(g.scalesQ3_K(avx2, row.block).AsX(), words)
		return words, row.at(108)
	}, 2, [8]int{0, 2, 1, 3, 4, 6, 5, 7}, func(row row, group int) reg.VecVirtual {
		if group%4 > 1 {
			q := halves[row.block]
			g.VPSRLW(operand.U8(4), q, q)
			g.VPAND(seven, q, q)
			return q
		}
		q, third, bits := g.YMM(), g.YMM(), g.load2(thirds[group%4])
		g.VMOVDQU(row.at(0), third)
		if group >= 4 {
			g.VPSRLW(operand.U8(4), third, third)
		}
		g.VPAND(low, third, third)
		g.VPSHUFB(third, bits, third)
		g.VMOVDQU(row.at(32+32*(group/4)), q)
		if group%4 == 1 {
			g.VPSRLW(operand.U8(2), q, q)
		}
		g.VPAND(pairs, q, q)
		g.VPOR(third, q, q)
		halves[row.block] = q
		first := g.YMM()
		g.VPAND(seven, q, first)
		return first
	})
}

// signedWords8 is the loop of a format with 16 signed scales and codes that count from 2^shift, in some order of groups. A row has 64 bytes of the
// stack: its scales as words, and after them the factor of all.
func (g *gen) signedWords8(t shape, scalesOf func(row row) (words reg.VecVirtual, d operand.Mem), shift uint8, order [8]int, codes func(row row, group int) reg.VecVirtual) func(*loop) {
	const size = 64
	stack := g.AllocLocal(size * t.rows)
	at := func(offset int) func(r int) operand.Mem {
		return func(r int) operand.Mem { return stack.Offset(size*r + offset) }
	}
	return func(l *loop) {
		scales := &wordScales{loop: l, at: at(0)}
		for r, row := range l.rows {
			words, d := scalesOf(row)
			scales.keep(words)
			g.VMOVSS(g.half2(d).AsX(), at(32)(r))
		}
		l.partials(func(p *partial) {
			p.halvesScaled(scales, order, codes)
			p.centre(shift, at(0))
			p.foldBlock(at(32), noMinima)
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
			p.foldTernary(func(r int) operand.Mem { return stack.Offset(size * r) })
		})
	}
}

// foldTernary makes sums of 32 bits of those of 16 of codes that count from 1, less what they count from, and adds them to
// the running sums.
func (p *partial) foldTernary(d func(r int) operand.Mem) {
	for r := range p.rows {
		for j, sum := range p.sums[r] {
			p.VPSUBW(at(p.inputs[j], p.arranged.sumAt(0)), sum, sum)
			p.VPMADDWD(p.ones16(), sum, sum)
		}
	}
	p.foldBlock(d, noMinima)
}
