package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The formats of low8bits.go, for AVX-512 with VNNI.

// mask64 loads a mask of 64 bytes into a mask register.
func (g *gen) mask64(bits uint64) reg.Register {
	r, k := g.GP64(), g.K()
	g.MOVQ(operand.U64(bits), r)
	g.KMOVQ(r, k)
	return k
}

// tq1_08x512 is the loop of TQ1_0. The digits stay in bits 6 and 7 of a byte, where codesTQ1_0
// finds them: shift 6 says so.
func tq1_08x512(g *gen, t shape) func(*loop) { return g.ternary512(t, 6, 52, g.codesTQ1_0()) }

// codesTQ1_0 returns a function that emits the 256 digits of a TQ1_0 block, times 64, in four
// registers. Consecutive digits of the same bytes lie side by side in a register; see tq1_0x2
// for the layout of a block.
func (g *gen) codesTQ1_0() func(block reg.Register) [4]reg.VecVirtual {
	one, upperTwo, zero := g.load512(g.bytes("onesx64", repeat(64, byte(1))...)), g.load512(g.bytes("mask192", repeat(64, byte(192))...)), g.ZMM()
	g.VPXORD(zero, zero, zero)
	eights := g.load512(g.bytes("mask248", repeat(64, byte(248))...))
	odd, upper := g.mask64(0xffff0000ffff0000), g.mask64(0xffffffff00000000)
	digits := func(b reg.VecVirtual) reg.VecVirtual { // as gen.digits, without the last shift
		q, half := g.ZMM(), g.ZMM()
		g.VPSUBUSB(one, b, q)
		g.VPAVGB(zero, q, half)
		g.VPAVGB(half, q, q)
		g.VPANDD(upperTwo, q, q)
		return q
	}
	times := func(b reg.VecVirtual, power int, where ...operand.Op) { // multiplies bytes by 3^power, power 1 or 2, under the mask where
		t := g.ZMM()
		if power == 1 {
			g.VPADDB(b, b, t)
		} else {
			g.VPSLLW(operand.U8(3), b, t)
			g.VPANDD(eights, t, t)
		}
		g.VPADDB(append(append([]operand.Op{t, b}, where...), b)...)
	}
	return func(block reg.Register) (q [4]reg.VecVirtual) {
		b, last, end := g.both512(at(block, 0)), g.ZMM(), g.YMM()
		times(b, 1, upper)
		q[0] = digits(b)
		times(b, 2)
		q[1] = digits(b)
		times(b, 2)
		g.VBROADCASTI32X4(at(block, 32), last)
		times(last, 1, odd)
		times(last, 2, upper)
		g.VINSERTI64X4(operand.U8(1), last.AsY(), b, b)
		q[2] = digits(b)
		times(last, 2)
		g.VPBROADCASTD(at(block, 48), end.AsX())
		g.VPMOVZXBW(end.AsX(), end)
		g.VPMULLW(g.powersOf3(), end, end)
		g.VPMOVWB(end, end.AsX())
		g.VINSERTI32X4(operand.U8(3), end.AsX(), last, last)
		q[3] = digits(last)
		return q
	}
}

// blockCodes is the loop of a format with groups of 64 elements. codes returns their codes as bytes, and
// scale their scales as 16 floats, one for each lane of sums. The sums of the inputs correct for
// the number that codes count from.
func blockCodes(groups int, codes, scale func(block reg.Register, group int) reg.VecVirtual) func(*loop) {
	return func(l *loop) {
		for group := range groups {
			var q, scales []reg.VecVirtual
			for _, row := range l.rows {
				q, scales = append(q, codes(row.block, group)), append(scales, scale(row.block, group))
			}
			for j, input := range l.inputs {
				x := l.load512(at(input, l.arranged.bytesAt(2*group)))
				for r := range l.rows {
					t := l.load512(at(input, l.arranged.sumAt(group)))
					l.vnni("VPDPBUSD", x, q[r], t)
					l.VCVTDQ2PS(t, t)
					l.VMULPS(at(input, l.arranged.scaleAt(group)), t, t)
					l.VFMADD231PS(scales[r], t, l.rows[r].sums[j][0])
				}
			}
		}
	}
}

// firstHalf512 returns the float16 at the start of the block as float32, in all lanes.
func (g *gen) firstHalf512(block reg.Register, _ int) reg.VecVirtual { return g.half512(at(block, 0)) }

// q1_08x512 is the loop of Q1_0: a bit becomes the code 2 or 0, which counts from 1.
func q1_08x512(g *gen, _ shape) func(*loop) {
	two := g.load512(g.bytes("twosx64", repeat(64, byte(2))...))
	return blockCodes(2, func(block reg.Register, group int) reg.VecVirtual {
		q, bits := g.ZMM(), g.K()
		g.KMOVQ(at(block, 2+8*group), bits)
		g.VMOVDQU8_Z(two, bits, q)
		return q
	}, g.firstHalf512)
}

// q2_08x512 is the loop of Q2_0; see q2_08.
func q2_08x512(g *gen, _ shape) func(*loop) {
	var from []byte
	for i := range 64 {
		from = append(from, byte(i/4))
	}
	order, masks := g.load512(g.bytes("foursx64", from...)), g.load512(g.bytes("twoOfFourx64", append(repeat32(3, 12), repeat32(3, 12)...)...))
	shifts := g.load512(g.dwords("right0or4words", repeat(16, uint32(4<<16))...))
	down := repeat32(0, 1, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)
	table := g.load512(g.bytes("twoBitsDownx64", append(down, down...)...))
	return blockCodes(1, func(block reg.Register, _ int) reg.VecVirtual {
		q := g.ZMM()
		g.VBROADCASTI32X4(at(block, 2), q)
		g.VPSHUFB(order, q, q)
		g.VPSRLVW(shifts, q, q)
		g.VPANDD(masks, q, q)
		g.VPSHUFB(q, table, q)
		return q
	}, g.firstHalf512)
}

// nvfp48x512 is the loop of NVFP4; see nvfp48. Each quarter of a register has a sub-block.
func nvfp48x512(head int) func(*gen, shape) func(*loop) {
	return func(g *gen, _ shape) func(*loop) {
		low := g.load512(g.bytes("mask15", repeat(64, byte(15))...))
		order := g.load512(g.qwords("eachTwice", 0, 0, 1, 1, 2, 2, 3, 3))
		shifts := g.load512(g.qwords("right0or4eachx64", 0, 4, 0, 4, 0, 4, 0, 4))
		table, scales := g.unsigned512(&e2m1), g.variable("nvfp4Scales")
		quarters := [4]reg.Register{nil, g.laneMask(0xf0), g.laneMask(0xf00), g.laneMask(0xf000)}
		return blockCodes(1, func(block reg.Register, _ int) reg.VecVirtual {
			q := g.ZMM()
			g.VMOVDQU32(at(block, head+4), q.AsY())
			g.VPERMQ(q, order, q)
			g.VPSRLVQ(shifts, q, q)
			g.VPANDD(low, q, q)
			g.VPSHUFB(q, table, q)
			return q
		}, func(block reg.Register, _ int) reg.VecVirtual {
			v := g.ZMM()
			for i, quarter := range quarters {
				e := g.GP64()
				g.MOVBQZX(at(block, head+i), e)
				from := operand.Mem{Base: scales, Index: e, Scale: 4}
				if quarter == nil {
					g.VBROADCASTSS(from, v)
				} else {
					g.VBROADCASTSS(from, quarter, v)
				}
			}
			if head > 0 {
				g.VMULPS_BCST(at(block, 0), v, v)
			}
			return v
		})
	}
}

// laneMask loads a mask of lanes into a mask register.
func (g *gen) laneMask(lanes uint32) reg.Register {
	r, k := g.GP32(), g.K()
	g.MOVL(operand.U32(lanes), r)
	g.KMOVW(r, k)
	return k
}
