package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The formats of low8.go, for AVX-512 with VNNI.

// quarters returns four VPERMW orders, one for each group of 64 elements. Order i copies
// scales 4i to 4i+3 of a block, one to all words of each quarter of the register.
func (g *gen) quarters() (orders [4]reg.VecVirtual) {
	for i := range orders {
		var b []byte
		for word := range 32 {
			b = append(b, byte(4*i+word/8), 0)
		}
		orders[i] = g.load512(g.bytes(fmt.Sprintf("scalesOf%d", i), b...))
	}
	return orders
}

// addQuarters adds a block of four groups of 64 elements to the sums. codes returns a group's codes as
// bytes. scales[r] has the row's 16 scales as words, in the lower half of the register.
func (s superSums) addQuarters(l *loop, orders [4]reg.VecVirtual, scales []reg.Register, codes func(block reg.Register, group int) reg.VecVirtual) {
	for group, order := range orders {
		var q, scale []reg.VecVirtual
		for r, row := range l.rows {
			v := l.ZMM()
			l.VPERMW(scales[r], order, v)
			q, scale = append(q, codes(row.block, group)), append(scale, v)
		}
		s.add(l, group, q, scale)
	}
}

// twoBits512 returns a function that emits the 64 two-bit codes of a group as bytes. The codes
// begin at a byte offset in the block, in the layout of pairs2: both halves of the register share
// their 32 bytes.
func (g *gen) twoBits512(offset int) func(block reg.Register, group int) reg.VecVirtual {
	three := g.load512(g.bytes("mask3x64", repeat(64, byte(3))...))
	shifts := [2]reg.VecVirtual{
		g.load512(g.qwords("right0or2upper", append(repeat(4, uint64(0)), repeat(4, uint64(2))...)...)),
		g.load512(g.qwords("right4or6upper", append(repeat(4, uint64(4)), repeat(4, uint64(6))...)...)),
	}
	return func(block reg.Register, group int) reg.VecVirtual {
		q := g.ZMM()
		g.VBROADCASTI64X4(at(block, offset+32*(group/2)), q)
		g.VPSRLVQ(shifts[group%2], q, q)
		g.VPANDD(three, q, q)
		return q
	}
}

// q2_K8x512 is the loop of Q2_K. The stack has per row:
//
//	bytes 0–31   16 minima, words
//	bytes 32–39  d and dmin, float32
func q2_K8x512(g *gen, t shape) func(*loop) {
	low, codes, orders := g.bytes("mask15", repeat(64, byte(15))...), g.twoBits512(16), g.quarters()
	const size = 64
	stack := g.AllocLocal(size * t.rows)
	minimaOf := func(r int) operand.Mem { return stack.Offset(size * r) }
	return func(l *loop) {
		var all []reg.Register // scales of each row, words
		for r, row := range l.rows {
			for i := range 2 {
				words := g.zero512()
				g.VMOVDQU32(at(row.block, 0), words.AsX())
				if i == 1 {
					g.VPSRLW(operand.U8(4), words.AsX(), words.AsX())
				}
				g.VPANDD(low, words.AsX(), words.AsX())
				g.VPMOVZXBW(words.AsX(), words.AsY())
				if i == 0 {
					all = append(all, words)
				} else {
					g.VMOVDQU32(words.AsY(), minimaOf(r))
				}
			}
			d := g.XMM()
			g.VMOVD(row.at(80), d)
			g.VCVTPH2PS(d, d)
			g.VMOVQ(d, minimaOf(r).Offset(32))
		}
		sums := l.superSums()
		sums.addQuarters(l, orders, all, codes)
		sums.finish(l,
			func(r int) operand.Mem { return minimaOf(r).Offset(32) },
			func(r int) *minima { return &minima{minimaOf(r).Offset(36), minimaOf(r)} })
	}
}

// q3_K8x512 is the loop of Q3_K. The stack has per row:
//
//	bytes 0–31   16 scales, words
//	bytes 64–67  d, float32
func q3_K8x512(g *gen, t shape) func(*loop) {
	codes, orders := g.twoBits512(32), g.quarters()
	const size = 96
	stack := g.AllocLocal(size * t.rows)
	scales := func(r int) operand.Mem { return stack.Offset(size * r) }
	return func(l *loop) {
		var all []reg.Register
		for r, row := range l.rows {
			words := g.zero512()
			g.VPMOVSXBW(g.scalesQ3_K(avx512, row.block).AsX(), words.AsY())
			g.VMOVDQU32(words.AsY(), scales(r))
			all = append(all, words)
			g.VMOVSS(g.half512(at(row.block, 108)).AsX(), scales(r).Offset(64))
		}
		sums := l.superSums()
		sums.addQuarters(l, orders, all, func(block reg.Register, group int) reg.VecVirtual {
			q := codes(block, group)
			g.addBitOf(q, group, at(block, 0), g.bytes("fours", repeat(64, byte(4))...))
			return q
		})
		sums.subtract(l, scales, 2, false) // codes count from 4
		sums.finish(l, func(r int) operand.Mem { return scales(r).Offset(64) }, noMinima)
	}
}

// tq2_08x512 is the loop of TQ2_0.
func tq2_08x512(g *gen, t shape) func(*loop) {
	codes := g.twoBits512(0)
	return g.ternary512(t, 0, 64, func(block reg.Register) (q [4]reg.VecVirtual) {
		for group := range q {
			q[group] = codes(block, group)
		}
		return q
	})
}

// ternary512 is the loop of a format with codes 0, 1 and 2, which count from 1, and no scale but d: a float16 at
// a byte offset in the block, which goes to the stack as float32. codes returns a block's codes
// times 2^shift. The sums of a block begin at minus 2^shift times the sums of the inputs.
func (g *gen) ternary512(t shape, shift, offset int, codes func(block reg.Register) [4]reg.VecVirtual) func(*loop) {
	const size = 8
	stack := g.AllocLocal(size * t.rows)
	d := func(r int) operand.Mem { return stack.Offset(size * r) }
	unit := g.floats(fmt.Sprintf("unit%d", shift), 1/float32(int(1)<<shift))
	return func(l *loop) {
		var q [][4]reg.VecVirtual
		for r, row := range l.rows {
			half := g.XMM()
			g.VPBROADCASTW(row.at(offset), half)
			g.VCVTPH2PS(half, half)
			if shift > 0 {
				g.VMULSS(unit, half, half)
			}
			g.VMOVSS(half, d(r))
			q = append(q, codes(row.block))
		}
		sums := make(superSums, len(l.rows))
		for j := range l.inputs {
			first := g.zero512()
			less := l.inputSums(j, g.ones16())
			if shift > 0 {
				g.VPSLLD(operand.U8(shift), less, less)
			}
			g.VPSUBD(less, first, first)
			for r := range sums {
				t := first
				if r < len(sums)-1 {
					t = g.ZMM()
					g.VMOVAPS(first, t)
				}
				sums[r] = append(sums[r], t)
			}
			for group := range 4 {
				x := l.load512(at(l.inputs[j], 64*group))
				for r := range sums {
					g.vnni("VPDPBUSD", x, q[r][group], sums[r][j])
				}
			}
		}
		sums.finish(l, d, noMinima)
	}
}
