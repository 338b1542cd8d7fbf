package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8FormatsLow2 are the formats below four bits, and NVFP4, for AVX2 and inputs of bytes. A few
// instructions turn their codes into bytes. Sums of two products of such a code and an input
// stay far within 16 bits. low8grid.go has the formats with code books.
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

// twoBits returns the two-bit codes of elements 32·group to 32·group+31 as bytes. The codes begin at a byte
// offset in the block, in the layout of pairs2. mask has 3 in every byte.
func (g *gen) twoBits(block reg.Register, offset, group int, mask operand.Op) reg.VecVirtual {
	q := g.YMM()
	g.VMOVDQU(at(block, offset+32*(group/4)), q)
	if k := group % 4; k > 0 {
		g.VPSRLW(operand.U8(2*k), q, q)
	}
	g.VPAND(mask, q, q)
	return q
}

// evenOdd sorts the 16 words of a register: even words to the lower half, odd words to the upper half.
func (g *gen) evenOdd(v reg.VecVirtual) {
	var order []byte
	for i := range 32 {
		order = append(order, byte(i%16/8*2+i%8/2*4+i%2))
	}
	g.VPSHUFB(g.bytes("evenOdd", order...), v, v)
	g.VPERMQ(operand.U8(0xd8), v, v)
}

// wordOfEach returns the VPSHUFB order that copies word n of each half of a register to all
// words of that half.
func (g *gen) wordOfEach(n int) operand.Mem {
	var order []byte
	for i := range 32 {
		order = append(order, byte(2*n+i%2))
	}
	return g.bytes(fmt.Sprintf("wordOfEach%d", n), order...)
}

// halvesScaled adds a block of eight groups of 32 elements to partial sums. A group has two
// scales of 16 bits: one for the elements in the lower half of a register, one for the
// upper half. codes returns the 32 codes of a group as bytes. order is the order of the groups.
func (p *partial) halvesScaled(scales *wordScales, order [8]int, codes func(row row, group int) reg.VecVirtual) {
	parts := []*partial{p}
	if len(p.inputs) == 1 && order != ascending { // row by row: codes that groups share and scales need the registers
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

// ascending is the order of groups for codes that groups do not share; q3_K8 has another one.
var ascending = [8]int{0, 1, 2, 3, 4, 5, 6, 7}

// wordScales are the 16 scales of each row as words: in memory at at(r), and with one input also in
// registers (kept), in the order of evenOdd. With several inputs the sums need the registers.
type wordScales struct {
	*loop
	at   func(r int) operand.Mem
	kept []reg.VecVirtual
}

// keep stores the scales of the next row. It changes the register v.
func (w *wordScales) keep(v reg.VecVirtual) {
	w.VMOVUPS(v, w.at(len(w.kept)))
	if len(w.inputs) == 1 {
		w.evenOdd(v)
	}
	w.kept = append(w.kept, v)
}

// of returns the two scales of a group, each in all words of one half of a register.
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

// wordOfHalf returns the VPSHUFB order for a register whose dwords are all the same. It copies
// word 0 of the dword to all words of the lower half, and word 1 to all words of the upper half.
func (g *gen) wordOfHalf() operand.Mem {
	var of []byte
	for i := range 32 {
		of = append(of, byte(i%2+2*(i/16)))
	}
	return g.bytes("wordOfHalf", of...)
}

// centre corrects the partial sums for codes that count from 2^shift, such as 32 for Q6_K. It
// subtracts 2^shift · Σ scale·(sum of 16 inputs). scales(r) has 16 words.
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

// q2_K8 is the loop of Q2_K. The stack has per row:
//
//	bytes 0–31   16 scales, words
//	bytes 32–63  16 minima, words
//	bytes 64–71  d and dmin, float32
func q2_K8(g *gen, t shape) func(*loop) {
	three, low := g.constant2(t, g.bytes("mask3", repeat(32, byte(3))...)), g.bytes("mask15", repeat(64, byte(15))...)
	const size = 96
	stack := g.AllocLocal(size * t.rows)
	at := func(r, offset int) operand.Mem { return stack.Offset(size*r + offset) }
	return func(l *loop) {
		scales := &wordScales{loop: l, at: func(r int) operand.Mem { return at(r, 0) }}
		for r, row := range l.rows {
			var words [2]reg.VecVirtual // scales, then minima
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

// q3_K8 is the loop of Q3_K; see q3_Kx2 for the layout. One register has the codes of two groups, one in
// each nibble of its bytes: groups 0 and 2 of four, or 1 and 3. The mask 0x33 keeps the two-bit
// codes of both groups. A table adds their third bits: it maps four third bits of an element
// (one nibble of hmask) to bits 2 and 6.
func q3_K8(g *gen, t shape) func(*loop) {
	// These constants stay in memory, because the scales of four rows take the registers.
	low, pairs, seven := g.bytes("mask15", repeat(64, byte(15))...), g.bytes("mask3each4", repeat(32, byte(0x33))...), g.bytes("mask7", repeat(32, byte(7))...)
	var thirds [2]operand.Mem // for groups 0 and 2, and for groups 1 and 3
	for i := range thirds {
		var b []byte
		for n := range 32 {
			b = append(b, byte(n>>i&1<<2|n>>(i+2)&1<<6))
		}
		thirds[i] = g.bytes(fmt.Sprintf("thirdBits%d", i), b...)
	}
	halves := map[reg.Register]reg.VecVirtual{} // codes of two groups, by the register of the block's address
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

// signedWords8 is the loop of a format with 16 signed scales per block and codes that count
// from 2^shift. scalesOf returns the scales as words, and the memory of d (float16). order and
// codes are those of halvesScaled. The stack has per row:
//
//	bytes 0–31   16 scales, words
//	bytes 32–35  d, float32
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

// tq2_08 is the loop of TQ2_0. The format has no scales but d, so the products of a whole block are
// summed in 16 bits. The stack has d of each row as float32.
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

// foldTernary finishes a block of codes 0, 1 and 2, which count from 1. It subtracts the sums of the inputs from the 16-bit
// partial sums, widens these to 32 bits, and adds them times d to the running sums.
func (p *partial) foldTernary(d func(r int) operand.Mem) {
	for r := range p.rows {
		for j, sum := range p.sums[r] {
			p.VPSUBW(at(p.inputs[j], p.arranged.sumAt(0)), sum, sum)
			p.VPMADDWD(p.ones16(), sum, sum)
		}
	}
	p.foldBlock(d, noMinima)
}
