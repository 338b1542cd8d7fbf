package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// K-quants times bytes with AVX-512, as in super8.go: a register has 64 elements, and a
// block is summed as integers.

// superSums are the sums of a block, per row and input: of products, times the scales of
// what they are of.
type superSums [][]reg.VecVirtual

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

// add adds 64 elements of every row, the bytes of its q, times those of group i of x. scales
// are words; codes of up to 63 and inputs make sums of two products that 16 bits hold.
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

// addLarge is add for codes that need 32 bits: scales are dwords.
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

// inputSums returns the sums of input j, times words in memory, in the lower half of a register, zeros above.
func (l *loop) inputSums(j int, words operand.Mem) reg.VecVirtual {
	t := l.zero512()
	l.VMOVDQU32(at(l.inputs[j], l.arranged.sumAt(0)), t.AsY())
	l.VPMADDWD(words, t.AsY(), t.AsY())
	return t
}

// finish adds the sums to the running sums: d, which is in memory, times the scale of x
// times the sum.
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
			x := l.ZMM() // of which a lane shows that an input is not finite
			l.VBROADCASTF32X8(at(l.inputs[j], l.arranged.scaleAt(0)), x)
			l.VFMADD231PS(x, sum, row.sums[j][0])
		}
	}
}

// noMinima says that elements of a sub-block have nothing in common.
func noMinima(int) *minima { return nil }

// subtract takes codes' smallest value, times the words of scales for every 16 inputs, from
// the sums: it is shift bits to the left, less once where minus says so.
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

// both512 returns the 32 bytes at m in both halves of a register. What was stored as 32
// bytes a little before can be loaded so without waiting for the cache, but not with more.
func (g *gen) both512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VBROADCASTI64X4(m, v)
	return v
}

// zero512 returns a register of zeros, for what has less than 64 bytes: else the generator takes what is above them for
// something that it has to keep.
func (g *gen) zero512() reg.VecVirtual {
	v := g.ZMM()
	g.VXORPS(v, v, v)
	return v
}

// orders are registers that pick the lanes of scales: two numbers of sub-blocks for each of
// four groups, each in half of the lanes.
func (g *gen) orders() (o [4]reg.VecVirtual) {
	for i := range o {
		words := append(repeat(8, uint32(2*i)), repeat(8, uint32(2*i+1))...)
		o[i] = g.load512(g.dwords(fmt.Sprintf("subBlocks%d", i), words...))
	}
	return o
}

// affine8x512 is the loop of Q4_K and Q5_K. Scales stay in registers: from the stack, where they would have been stored
// just before, they come late. A row has 64 bytes of it: the minima of its block, twice, and the factors of both.
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
			for pair := range 4 { // of sub-blocks that share their bytes of qs
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

// addBitOf adds n to the bytes of either half of q where the 32 bytes at m have bit 2·pair, or for the upper half the
// next.
func (g *gen) addBitOf(q reg.VecVirtual, pair int, m, n operand.Mem) {
	bits, k := g.ZMM(), g.K()
	b := append(repeat(32, byte(1<<(2*pair))), repeat(32, byte(2<<(2*pair)))...)
	g.VBROADCASTI64X4(m, bits)
	g.VPTESTMB(g.bytes(fmt.Sprintf("fifth%d", pair), b...), bits, k)
	g.VPADDB(n, q, k, q)
}

// q6_K8x512 is the loop of Q6_K. A row has 96 bytes of the stack: its scales as words, and
// after them the factor of all.
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

// iq4_XS8x512 is the loop of IQ4_XS. A row has 64 bytes of the stack: its scales, as words twice,
// and the factor of all.
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
		// Codes count from -127, which is 1 - 2^7.
		sums.subtract(l, func(r int) operand.Mem { return stack.Offset(size * r) }, 7, true)
		sums.finish(l, func(r int) operand.Mem { return stack.Offset(size*r + 32) }, noMinima)
	}
}
