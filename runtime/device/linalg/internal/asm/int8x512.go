package main

import (
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loops over inputs of signed bytes, for AVX-512 with VNNI. VPDPBUSD adds four products of
// unsigned codes and signed bytes to a sum of 32 bits. Signed codes are made unsigned: their smallest
// value is subtracted, and the sums of the inputs correct for it. A register has 64
// elements. In this file these are two blocks of 32 with a scale each; super512.go has the K-quants.

// int8Formats512 are the formats of the loops over bytes for AVX-512.
var int8Formats512 = []format{
	{name: "Q4_0", elems: 64, bytes: 36, begin: blocks512{qs: 2}.begin, int8: blocks8},
	{name: "Q4_1", elems: 64, bytes: 40, begin: blocks512{min: 2, qs: 4}.begin, int8: blocks8},
	{name: "Q5_0", elems: 64, bytes: 44, begin: blocks512{qh: 2, qs: 6}.begin, int8: blocks8},
	{name: "Q5_1", elems: 64, bytes: 48, begin: blocks512{min: 2, qh: 4, qs: 8}.begin, int8: blocks8},
	{name: "IQ4_NL", elems: 64, bytes: 36, begin: blocks512{table: &levels, qs: 2}.begin, int8: blocks8},
	{name: "MXFP4", elems: 64, bytes: 34, begin: blocks512{table: &e2m1, qs: 1, power: true}.begin, int8: blocks8},
	{name: "Q8_0", elems: 64, bytes: 68, begin: blocks512{qs: 2, bytes: true}.begin, int8: blocks8},
	{name: "Q4_K", elems: 256, bytes: 144, begin: affine8x512(false), int8: super8},
	{name: "Q5_K", elems: 256, bytes: 176, begin: affine8x512(true), int8: super8},
	{name: "Q6_K", elems: 256, bytes: 210, begin: q6_K8x512, int8: super8},
	{name: "IQ4_XS", elems: 256, bytes: 136, begin: iq4_XS8x512, int8: super8},
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_K8x512, int8: super8},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_K8x512, int8: super8},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_08x512, int8: super8},
	{name: "TQ1_0", elems: 256, bytes: 54, begin: tq1_08x512, int8: super8},
	{name: "Q1_0", elems: 128, bytes: 18, begin: q1_08x512, int8: blocks8},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_08x512, int8: blocks8},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp48x512(0), int8: blocks8},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp48x512(4), int8: blocks8},
}

// blocks512 is the loop of a format with blocks of 32 elements and one scale per block. A step takes two
// blocks, one in each half of a register. The fields are those of nibbles2.
type blocks512 struct {
	table        *table
	min, qh, qs  int
	power, bytes bool // bytes: codes are 32 signed bytes, not nibbles
}

// begin is format.begin.
func (b blocks512) begin(g *gen, _ shape) func(*loop) {
	mask := uint8(15)
	if b.bytes {
		mask = 0x80
	}
	masks := g.load512(g.bytes("mask"+map[bool]string{false: "15", true: "128"}[b.bytes], repeat(64, mask)...))
	shifts := g.load512(g.qwords("right0or4twice", 0, 0, 4, 4, 0, 0, 4, 4))
	var table reg.VecVirtual
	if b.table != nil {
		table = g.unsigned512(b.table)
	}
	upper := g.upper512()
	return func(l *loop) {
		size := l.format.bytes / 2
		type parts struct{ q, scale, min reg.VecVirtual }
		var rows []parts
		for _, row := range l.rows {
			p := parts{q: g.ZMM()}
			if b.bytes {
				g.VBROADCASTI64X4(at(row.block, b.qs), p.q)
				g.VINSERTI64X4(operand.U8(1), at(row.block, size+b.qs), p.q, p.q)
				g.VPXORD(masks, p.q, p.q)
			} else {
				g.VBROADCASTI32X4(at(row.block, b.qs), p.q)
				g.VBROADCASTI32X4(at(row.block, size+b.qs), upper, p.q)
				g.VPSRLVQ(shifts, p.q, p.q)
				g.VPANDD(masks, p.q, p.q)
			}
			if b.qh != 0 {
				g.addFifthBits(p.q, at(row.block, b.qh), at(row.block, size+b.qh))
			}
			if table != nil {
				g.VPSHUFB(p.q, table, p.q)
			}
			if b.power {
				p.scale = g.powers512(row.block, size, upper)
			} else {
				p.scale = g.halves512(row.block, 0, size, upper)
			}
			if b.min != 0 {
				p.min = g.halves512(row.block, b.min, size, upper)
			}
			rows = append(rows, p)
		}
		for j, input := range l.inputs {
			x := g.load512(at(input, l.arranged.bytesAt(0)))
			for r, p := range rows {
				t := g.ZMM()
				if b.min == 0 {
					g.VMOVDQU32(at(input, l.arranged.sumAt(0)), t)
				} else {
					g.VXORPS(t, t, t)
				}
				g.vnni("VPDPBUSD", x, p.q, t)
				g.VCVTDQ2PS(t, t)
				g.VMULPS(at(input, l.arranged.scaleAt(0)), t, t)
				g.VFMADD231PS(p.scale, t, l.rows[r].sums[j][0])
				if b.min != 0 {
					g.VFMADD231PS(at(input, l.arranged.sumAt(0)), p.min, l.rows[r].sums[j][0])
				}
			}
		}
	}
}

// unsigned512 loads the entries of a table, less the smallest one, as bytes: once in each
// quarter of a register, because VPSHUFB looks up within quarters.
func (g *gen) unsigned512(of *table) reg.VecVirtual {
	smallest := slices.Min(of.values[:])
	b := make([]byte, 64)
	for i := range b {
		b[i] = byte(int(of.values[i%16] - smallest))
	}
	return g.load512(g.bytes(of.name+"Unsigned", b...))
}

// upper512 returns a mask of the upper eight of 16 lanes.
func (g *gen) upper512() reg.Register { return g.laneMask(0xff00) }

// halves512 converts the float16 at an offset of two blocks to float32, each in half of the
// lanes. second is the distance of the blocks in bytes; upper is the mask upper512.
func (g *gen) halves512(block reg.Register, offset, second int, upper reg.Register) reg.VecVirtual {
	h, v := g.YMM(), g.ZMM()
	g.VPBROADCASTW(at(block, offset), h)
	g.VPBROADCASTW(at(block, second+offset), upper, h)
	g.VCVTPH2PS(h, v)
	return v
}

// powers512 returns 2^(e-128) for the first byte e of two blocks, each in half of the lanes.
func (g *gen) powers512(block reg.Register, second int, upper reg.Register) reg.VecVirtual {
	e, base, v := g.GP64(), g.GP64(), g.ZMM()
	g.LEAQ(g.powers(), base)
	g.MOVBQZX(at(block, 0), e)
	g.VBROADCASTSS(operand.Mem{Base: base, Index: e, Scale: 4}, v)
	g.MOVBQZX(at(block, second), e)
	g.VBROADCASTSS(operand.Mem{Base: base, Index: e, Scale: 4}, upper, v)
	return v
}

// addFifthBits adds 16 to byte i of a half of q where bit i of the half's dword is set: first
// for the lower half, second for the upper half.
func (g *gen) addFifthBits(q reg.VecVirtual, first, second operand.Mem) {
	low, high, k := g.GP64(), g.GP64(), g.K()
	g.MOVL(first, low.As32())
	g.MOVL(second, high.As32())
	g.SHLQ(operand.U8(32), high)
	g.ORQ(high, low)
	g.KMOVQ(low, k)
	g.VPADDB(g.bytes("sixteens", repeat(64, byte(16))...), q, k, q)
}

// blocksLoop emits the function that arranges x as bytes in the layout blocks8. It differs from int8Loop in that
// elements stay in order, and each block of a group has its own scale and sums.
func (g *gen) blocksLoop(name string, a *arranged, floats bool) {
	dst, x, n, common := g.beginInt8(name)
	ones := g.load2(g.dwords("ones8", repeat(8, uint32(0x01010101))...))
	for i := range a.elems() / 32 {
		q, scale := g.block8(x, 4*32*i)
		g.VMOVDQU(q, at(dst, a.bytesAt(i)))
		g.VMOVUPS(scale, at(dst, a.scaleAt(0)+32*i))
		sum := g.YMM()
		g.VPMADDUBSW(q, ones, sum)
		g.storeSums(sum, common, scale, floats, at(dst, a.sumAt(0)+32*i))
	}
	g.nextGroup(a, dst, x, n)
	g.end()
}

// vnni emits an instruction of VNNI, which avo does not know: it adds products of a and b to
// sum. The operands are in Go's order.
func (g *gen) vnni(opcode string, a, b, sum reg.VecVirtual) {
	in := []operand.Op{a, b, sum}
	g.Instruction(&ir.Instruction{
		Opcode: opcode, Operands: in, Inputs: in, Outputs: in[2:], ISA: []string{"AVX512VNNI"},
	})
}
