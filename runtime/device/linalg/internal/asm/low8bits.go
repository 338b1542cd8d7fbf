package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Formats of low8.go whose codes are not in the layout of pairs2: TQ1_0 (base-3 digits), Q1_0 and
// Q2_0 (consecutive codes of one and two bits), and NVFP4 (nibbles).

// tq1_08 is the loop of TQ1_0; see tq1_0x2 for the layout. The stack has d of each row as float32.
func tq1_08(g *gen, t shape) func(*loop) {
	const size = 32
	stack := g.AllocLocal(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			g.VMOVSS(g.half2(at(row.block, 52)).AsX(), stack.Offset(size*r))
		}
		l.partials(func(p *partial) {
			fractions := p.each(func(_ int, row row) reg.VecVirtual { return g.load2(at(row.block, 0)) })
			for group := range 8 {
				for k, b := range fractions {
					block := p.rows[k].block
					switch group {
					case 0:
					case 5: // bytes 32–47: their first digit in the lower half, the second in the upper half
						t := g.YMM()
						g.VBROADCASTI128(at(block, 32), b)
						g.VPADDB(b, b, t)
						g.VPADDB(b, t, t)
						g.VPBLENDD(operand.U8(0xf0), t, b, b)
					case 6:
						g.triple(b)
						g.triple(b)
					case 7:
						g.triple(b)
						g.triple(b)
						g.VINSERTI128(operand.U8(1), g.lastOfTQ1_0(block).AsX(), b, b)
					default:
						g.triple(b)
					}
				}
				p.addProducts(group, p.each(func(r int, _ row) reg.VecVirtual { return g.digits(fractions[r-p.first()]) }))
			}
			p.foldTernary(func(r int) operand.Mem { return stack.Offset(size * r) })
		})
	}
}

// triple multiplies bytes by 3, modulo 256.
func (g *gen) triple(b reg.VecVirtual) {
	t := g.YMM()
	g.VPADDB(b, b, t)
	g.VPADDB(t, b, b)
}

// digits returns floor(3·b/256) of every byte b: the first base-3 digit of a TQ1_0 byte. With
// c = max(b-1, 0), VPAVGB rounds averages up: (c+1)/2, and then (c + (c+1)/2 + 1)/2, which is about 3·c/4.
// The digit is in the upper two bits of this byte.
func (g *gen) digits(b reg.VecVirtual) reg.VecVirtual {
	q, zero, half := g.YMM(), g.YMM(), g.YMM()
	g.VPSUBUSB(g.dwords("ones8", repeat(8, uint32(0x01010101))...), b, q)
	g.VPXOR(zero, zero, zero)
	g.VPAVGB(zero, q, half)
	g.VPAVGB(half, q, q)
	g.VPSRLW(operand.U8(6), q, q)
	g.VPAND(g.bytes("mask3", repeat(32, byte(3))...), q, q)
	return q
}

// pairsOf8 is the loop of a format with one float16 scale, at the start of a block, and some groups of 64
// elements: two blocks of 32 inputs each. codes returns 32 codes of a group, 16 for either block: half 0
// for the first 16 inputs of both, half 1 for the last 16 (the layout pairs8). The sums of the inputs correct for
// the number that codes count from.
func pairsOf8(groups int, codes func(block reg.Register, group, half int) reg.VecVirtual) func(*loop) {
	return func(l *loop) {
		for group := range groups {
			l.partials(func(p *partial) {
				p.begin(group)
				for half := range 2 {
					p.addProducts(2*group+half, p.each(func(_ int, row row) reg.VecVirtual { return codes(row.block, group, half) }))
				}
				p.fold(group, func(_ int, row row) reg.VecVirtual { return l.half2(at(row.block, 0)) }, nil)
			})
		}
	}
}

// q1_08 is the loop of Q1_0: a bit becomes the code 2 or 0, which counts from 1.
func q1_08(g *gen, t shape) func(*loop) {
	bits, two := g.constant2(t, g.bytes("bitMask", bitOfByte()...)), g.constant2(t, g.bytes("twos", repeat(32, byte(2))...))
	return pairsOf8(2, func(block reg.Register, group, half int) reg.VecVirtual {
		var from []byte
		for i := range 32 {
			from = append(from, byte(i/16*4+2*half+i%16/8))
		}
		q := g.YMM()
		g.VPBROADCASTQ(at(block, 2+8*group), q)
		g.VPSHUFB(g.bytes(fmt.Sprintf("bitsOfHalf%d", half), from...), q, q)
		g.VPAND(bits, q, q)
		g.VPCMPEQB(bits, q, q)
		g.VPAND(two, q, q)
		return q
	})
}

// q2_08 is the loop of Q2_0, whose codes count from 1. VPSHUFB copies each byte, which has four
// codes, to the four bytes of a dword. Of these the odd word shifts down by 4 bits. So the code is in:
//
//	byte  0     1     2     3
//	bits  0–1   2–3   0–1   2–3
//
// A table moves bits 2 and 3 down.
func q2_08(g *gen, t shape) func(*loop) {
	masks := g.constant2(t, g.bytes("twoOfFour", repeat32(3, 12)...))
	table := g.constant2(t, g.bytes("twoBitsDown", repeat32(0, 1, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)...))
	return pairsOf8(1, func(block reg.Register, _, half int) reg.VecVirtual {
		var from []byte
		for i := range 32 {
			from = append(from, byte(i/16*8+4*half+i%16/4))
		}
		q, high := g.YMM(), g.YMM()
		g.VBROADCASTI128(at(block, 2), q)
		g.VPSHUFB(g.bytes(fmt.Sprintf("foursOfHalf%d", half), from...), q, q)
		g.VPSRLW(operand.U8(4), q, high)
		g.VPBLENDW(operand.U8(0xaa), high, q, q)
		g.VPAND(masks, q, q)
		g.lookup2(table, q)
		return q
	})
}

// repeat32 returns 32 bytes that repeat list.
func repeat32(list ...byte) (b []byte) {
	for len(b) < 32 {
		b = append(b, list...)
	}
	return b
}

// nvfp48 is the loop of NVFP4; see nvfp4x2 for the layout and for head. A sub-block of 16 elements has
// a float32 scale. A register has two sub-blocks, one in each half.
func nvfp48(head int) func(*gen, shape) func(*loop) {
	return func(g *gen, t shape) func(*loop) {
		low := g.constant2(t, g.bytes("mask15", repeat(64, byte(15))...))
		table, scales := g.byteTable(t, &e2m1), g.variable("nvfp4Scales")
		shifts := g.qwords("right0or4each", 0, 4, 0, 4)
		order := g.bytes("eightTwice", 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
		return func(l *loop) {
			for group := range 2 {
				l.partials(func(p *partial) {
					p.addProducts(group, p.each(func(_ int, row row) reg.VecVirtual {
						q := g.YMM()
						g.VBROADCASTI128(at(row.block, head+4+16*group), q)
						g.VPSHUFB(order, q, q)
						g.VPSRLVQ(shifts, q, q)
						g.VPAND(low, q, q)
						g.lookup2(table, q)
						return q
					}))
					p.fold(group, func(_ int, row row) reg.VecVirtual {
						var v [2]reg.VecVirtual
						for i := range v {
							e := g.GP64()
							g.MOVBQZX(at(row.block, head+2*group+i), e)
							v[i] = g.broadcast2(operand.Mem{Base: scales, Index: e, Scale: 4})
						}
						g.VBLENDPS(operand.U8(0xf0), v[1], v[0], v[0])
						if head > 0 {
							g.VMULPS(g.broadcast2(at(row.block, 0)), v[0], v[0])
						}
						return v[0]
					}, nil)
				})
			}
		}
	}
}
