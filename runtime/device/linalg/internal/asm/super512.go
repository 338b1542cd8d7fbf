package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// K-quants times bytes, for AVX-512 with VNNI. As in super8.go a block is summed as integers. A
// register has 64 elements.

// superSums are the integer sums of a block, per row and input: products times their scales.
type superSums [][]reg.VecVirtual

// superSums returns sums that are zero.
func (l *loop) superSums() superSums {
	s := make(superSums, len(l.rows))
	for r := range s {
		for range l.inputs {
			t := l.ZMM()
			l.VXORPS(t, t, t)
			s[r] = append(s[r], t)
		}
	}
	return s
}

// add multiplies 64 codes of every row, the bytes of its q, by group i of x and by scales, which
// are words. Codes of at most 63 keep the sums of two products within 16 bits.
func (s superSums) add(l *loop, i int, q, scales []reg.VecVirtual) {
	for j, input := range l.inputs {
		x := l.load512(at(input, 64*i))
		for r := range l.rows {
			t := l.ZMM()
			l.VPMADDUBSW(x, q[r], t)
			l.vnni("VPDPWSSD", scales[r], t, s[r][j])
		}
	}
}

// addLarge is add for codes whose sums of two products may exceed 16 bits. scales are dwords.
func (s superSums) addLarge(l *loop, i int, q, scales []reg.VecVirtual) {
	for j, input := range l.inputs {
		x := l.load512(at(input, 64*i))
		for r := range l.rows {
			t := l.ZMM()
			l.VXORPS(t, t, t)
			l.vnni("VPDPBUSD", x, q[r], t)
			l.VPMULLD(scales[r], t, t)
			l.VPADDD(t, s[r][j], s[r][j])
		}
	}
}

// inputSums multiplies the 16 sums of input j by 16 words in memory and adds pairs of the products. The result
// is eight dwords in the lower half of a register, with zeros above them.
func (l *loop) inputSums(j int, words operand.Mem) reg.VecVirtual {
	t := l.zero512()
	l.VMOVDQU32(at(l.inputs[j], l.arranged.sumAt(0)), t.AsY())
	l.VPMADDWD(words, t.AsY(), t.AsY())
	return t
}

// finish adds the sums of a block to the running sums: d (float32 in memory) times the scale of
// x times the sum. less returns the minima of a row, or nil.
func (s superSums) finish(l *loop, d func(r int) operand.Mem, less func(r int) *minima) {
	for r, row := range l.rows {
		for j, sum := range s[r] {
			l.VCVTDQ2PS(sum, sum)
			l.VMULPS_BCST(d(r), sum, sum)
			if m := less(r); m != nil {
				t := l.inputSums(j, m.mins)
				l.VCVTDQ2PS(t, t)
				l.VFNMADD231PS_BCST(m.m, t, sum)
			}
			x := l.ZMM() // the scale; NaN in at least one lane if an input is not finite
			l.VBROADCASTF32X8(at(l.inputs[j], l.arranged.scaleAt(0)), x)
			l.VFMADD231PS(x, sum, row.sums[j][0])
		}
	}
}

// noMinima is the argument less of formats without minima.
func noMinima(int) *minima { return nil }

// subtract corrects the sums for the number that codes count from: 2^shift, or with minus 2^shift - 1. It
// subtracts this number times Σ scale·(sum of 16 inputs). scales(r) has 16 words.
func (s superSums) subtract(l *loop, scales func(r int) operand.Mem, shift uint8, minus bool) {
	for r := range l.rows {
		for j := range l.inputs {
			t := l.inputSums(j, scales(r))
			if minus {
				l.VPADDD(t, s[r][j], s[r][j])
			}
			if shift > 0 {
				l.VPSLLD(operand.U8(shift), t, t)
			}
			l.VPSUBD(t, s[r][j], s[r][j])
		}
	}
}

// both512 copies the 32 bytes at m to both halves of a register. If these bytes were stored by one 32-byte
// store just before, the processor forwards them to a 32-byte load, but not to a wider one.
func (g *gen) both512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VBROADCASTI64X4(m, v)
	return v
}

// zero512 returns a register of zeros, for values of fewer than 64 bytes. Without the zeros avo
// takes the upper bytes for a value that it has to preserve.
func (g *gen) zero512() reg.VecVirtual {
	v := g.ZMM()
	g.VXORPS(v, v, v)
	return v
}

// orders returns four VPERMD orders, one for each group of 64 elements. Order i copies scale 2i to the
// lower eight lanes, and scale 2i+1 to the upper eight.
func (g *gen) orders() (o [4]reg.VecVirtual) {
	for i := range o {
		words := append(repeat(8, uint32(2*i)), repeat(8, uint32(2*i+1))...)
		o[i] = g.load512(g.dwords(fmt.Sprintf("subBlocks%d", i), words...))
	}
	return o
}

// affine8x512 is begin of Q4_K or, with fifth bits, Q5_K. Scales stay in registers: loads from
// the stack would wait for the stores just before them. The stack has per row:
//
//	bytes 0–31   8 minima, each twice as a word
//	bytes 32–39  d and dmin, float32
func affine8x512(fifth bool) func(*gen, shape) func(*loop) {
	qs := 16
	if fifth {
		qs = 48
	}
	const size = 64
	return func(g *gen, t shape) func(*loop) {
		low := g.load512(g.bytes("mask15", repeat(64, byte(15))...))
		shifts := g.load512(g.qwords("right0or4upper", 0, 0, 0, 0, 4, 4, 4, 4))
		orders := g.orders()
		stack := g.AllocLocal(size * t.rows)
		return func(l *loop) {
			var all []reg.Register // scales of the rows
			for r, row := range l.rows {
				head, packed := g.unpackScales(avx512, row.block)
				for i := range 2 {
					values := g.zero512()
					g.VPMOVZXBD(packed, values.AsY())
					g.twice(values.AsY())
					if i == 0 {
						all = append(all, values)
					} else {
						g.VMOVDQU32(values.AsY(), stack.Offset(size*r))
					}
					g.VPSRLDQ(operand.U8(8), packed, packed)
				}
				g.VCVTPH2PS(head, head)
				g.VMOVUPS(head, stack.Offset(size*r+32))
			}
			sums := l.superSums()
			for pair := range 4 { // two sub-blocks of 32 elements: low and high nibbles of the same bytes of qs
				var q, scales []reg.VecVirtual
				for r, row := range l.rows {
					codes, scale := g.ZMM(), g.ZMM()
					g.VBROADCASTI64X4(at(row.block, qs+32*pair), codes)
					g.VPSRLVQ(shifts, codes, codes)
					g.VPANDD(low, codes, codes)
					if fifth {
						g.addBitOf(codes, pair, at(row.block, 16), g.bytes("sixteens", repeat(64, byte(16))...))
					}
					g.VPERMD(all[r], orders[pair], scale)
					q, scales = append(q, codes), append(scales, scale)
				}
				sums.add(l, pair, q, scales)
			}
			sums.finish(l,
				func(r int) operand.Mem { return stack.Offset(size*r + 32) },
				func(r int) *minima { return &minima{stack.Offset(size*r + 36), stack.Offset(size * r)} })
		}
	}
}

// addBitOf adds the bytes at n to the bytes of q whose bit at m is set. m has 32 bytes. The lower half of q takes
// bit 2·pair of each byte, the upper half bit 2·pair + 1.
func (g *gen) addBitOf(q reg.VecVirtual, pair int, m, n operand.Mem) {
	bits, k := g.ZMM(), g.K()
	b := append(repeat(32, byte(1<<(2*pair))), repeat(32, byte(2<<(2*pair)))...)
	g.VBROADCASTI64X4(m, bits)
	g.VPTESTMB(g.bytes(fmt.Sprintf("fifth%d", pair), b...), bits, k)
	g.VPADDB(n, q, k, q)
}

// q6_K8x512 is the loop of Q6_K. The stack has per row:
//
//	bytes 0–31   16 scales, words
//	bytes 64–67  d, float32
func q6_K8x512(g *gen, t shape) func(*loop) {
	codes, orders := g.codesQ6_K(), g.quarters()
	const size = 96
	stack := g.AllocLocal(size * t.rows)
	scales := func(r int) operand.Mem { return stack.Offset(size * r) }
	return func(l *loop) {
		var all []reg.Register
		for r, row := range l.rows {
			words := g.zero512()
			g.VPMOVSXBW(at(row.block, 192), words.AsY())
			g.VMOVDQU32(words.AsY(), scales(r))
			all = append(all, words)
			g.VMOVSS(g.half512(at(row.block, 208)).AsX(), scales(r).Offset(64))
		}
		sums := l.superSums()
		sums.addQuarters(l, orders, all, codes)
		sums.subtract(l, scales, 5, false) // codes count from 32
		sums.finish(l, func(r int) operand.Mem { return scales(r).Offset(64) }, noMinima)
	}
}

// iq4_XS8x512 is the loop of IQ4_XS. The stack has per row:
//
//	bytes 0–31   8 scales, each twice as a word
//	bytes 32–35  d, float32
func iq4_XS8x512(g *gen, t shape) func(*loop) {
	low := g.load512(g.bytes("mask15", repeat(64, byte(15))...))
	shifts := g.load512(g.qwords("right0or4twice", 0, 0, 4, 4, 0, 0, 4, 4))
	table := g.unsigned512(&levels)
	orders := g.orders()
	upper := g.upper512()
	const size = 64
	stack := g.AllocLocal(size * t.rows)
	return func(l *loop) {
		var all []reg.Register // scales of the rows
		for r, row := range l.rows {
			scales, words := g.wordsIQ4_XS(avx512, row.block), g.YMM()
			table := g.zero512()
			g.VMOVDQU32(scales, table.AsY())
			all = append(all, table)
			g.VMOVDQU32(scales, words)
			g.twice(words)
			g.VMOVDQU32(words, stack.Offset(size*r))
			g.VMOVSS(g.half512(at(row.block, 0)).AsX(), stack.Offset(size*r+32))
		}
		sums := l.superSums()
		for pair := range 4 {
			var q, scales []reg.VecVirtual
			for r, row := range l.rows {
				codes, scale := g.ZMM(), g.ZMM()
				g.VBROADCASTI32X4(at(row.block, 8+32*pair), codes)
				g.VBROADCASTI32X4(at(row.block, 24+32*pair), upper, codes)
				g.VPSRLVQ(shifts, codes, codes)
				g.VPANDD(low, codes, codes)
				g.VPSHUFB(codes, table, codes)
				g.VPERMD(all[r], orders[pair], scale)
				q, scales = append(q, codes), append(scales, scale)
			}
			sums.addLarge(l, pair, q, scales)
		}
		// The smallest level is -127 = 1 - 2^7; unsigned512 subtracted it from all codes.
		sums.subtract(l, func(r int) operand.Mem { return stack.Offset(size * r) }, 7, true)
		sums.finish(l, func(r int) operand.Mem { return stack.Offset(size*r + 32) }, noMinima)
	}
}
