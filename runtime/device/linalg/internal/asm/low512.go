package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// formatsLow512 are the formats below four bits, and NVFP4, with AVX-512, for one row. VPERMPS looks 16 codes up in a
// table of 16 floats, which is scaled once for a sub-block. VPERMPS ignores all but the lowest four bits of a code, so
// shorter codes need no mask if the table repeats. TQ1_0 and the formats with code books keep the loops of AVX2: an
// entry is eight floats, and joining two entries takes more instructions than a wider register saves.
var formatsLow512 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_Kx512, few: true},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_Kx512, few: true},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_0x512, few: true},
	{name: "Q1_0", elems: 128, bytes: 18, begin: q1_0x512, few: true},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_0x512, few: true},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp4x512(0), few: true},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp4x512(4), few: true},
}

// repeated returns a table of n consecutive numbers from first on, which repeats.
func repeated(name string, n, first int) *table {
	t := table{name: name}
	for i := range t.values {
		t.values[i] = float32(first + i%n)
	}
	return &t
}

// pairs512 is pairs2 for 16 elements at a time.
func (l *loop) pairs512(offset int, table func(s int) reg.VecVirtual) {
	for h := range 2 {
		codes := [2]reg.VecVirtual{l.bytes512(at(l.rows[0].block, offset+32*h)), l.bytes512(at(l.rows[0].block, offset+32*h+16))}
		for k := range 4 {
			group := 4*h + k
			l.loadX(2*group, 2)
			for i, q := range codes {
				l.add(l.rows[0], 2*group+i, l.lookup(table(2*group+i), q, nil, nil))
				if k < 3 {
					l.VPSRLD(operand.U8(2), q, q)
				}
			}
		}
	}
}

// q2_Kx512 keeps scales and minima as floats on the stack.
func q2_Kx512(g *gen, _ shape) func(*loop) {
	codes := g.table512(repeated("codes0123x4", 4, 0))
	low := g.load512(g.dwords("dwords15x16", repeat(16, uint32(15))...))
	stack := g.AllocLocal(128)
	return func(l *loop) {
		block := l.rows[0].block
		for i, offset := range []int{80, 82} { // of d and dmin
			q := g.bytes512(at(block, 0))
			if i == 1 {
				g.VPSRLD(operand.U8(4), q, q)
			}
			g.VPANDD(low, q, q)
			g.VCVTDQ2PS(q, q)
			g.VMULPS(g.half512(at(block, offset)), q, q)
			g.VMOVUPS(q, stack.Offset(64*i))
		}
		l.pairs512(16, func(s int) reg.VecVirtual {
			return g.affineTable(codes, stack.Offset(4*s), stack.Offset(64+4*s))
		})
	}
}

func tq2_0x512(g *gen, _ shape) func(*loop) {
	codes := g.table512(repeated("codesMinus1x4", 4, -1))
	return func(l *loop) {
		table := g.half512(at(l.rows[0].block, 64))
		g.VMULPS(codes, table, table)
		l.pairs512(0, func(int) reg.VecVirtual { return table })
	}
}

func q2_0x512(g *gen, _ shape) func(*loop) {
	codes := g.table512(repeated("codesMinus1x4", 4, -1))
	var list []uint32
	for i := range uint32(16) {
		list = append(list, 2*i)
	}
	shifts := g.load512(g.dwords("shifts2all", list...))
	return func(l *loop) {
		block := l.rows[0].block
		table := g.half512(at(block, 0))
		g.VMULPS(codes, table, table)
		l.loadX(0, 4)
		for i := range 4 {
			q := g.ZMM()
			g.VPBROADCASTD(at(block, 2+4*i), q)
			g.VPSRLVD(shifts, q, q)
			l.add(l.rows[0], i, g.lookup(table, q, nil, nil))
		}
	}
}

// q1_0x512 negates d where a bit is 0, see q1_0x2.
func q1_0x512(g *gen, _ shape) func(*loop) {
	sign := g.load512(g.dwords("signs512", repeat(16, uint32(1<<31))...))
	var shifts [2]reg.VecVirtual
	for i := range shifts {
		var list []uint32
		for lane := range uint32(16) {
			list = append(list, 31-uint32(16*i)-lane)
		}
		shifts[i] = g.load512(g.dwords([]string{"toSignLower", "toSignUpper"}[i], list...))
	}
	return func(l *loop) {
		block := l.rows[0].block
		d := g.half512(at(block, 0))
		l.loadX(0, 8)
		for i := range 4 {
			bits := g.ZMM()
			g.VPBROADCASTD(at(block, 2+4*i), bits)
			for k, shift := range shifts {
				w := g.ZMM()
				g.VPSLLVD(shift, bits, w)
				g.VPTERNLOGD(operand.U8(0xc6), sign, d, w) // d ^ (sign &^ w)
				l.add(l.rows[0], 2*i+k, w)
			}
		}
	}
}

// q3_Kx512 puts the third bit above the others; what is above it is another third bit, so the table repeats.
func q3_Kx512(g *gen, _ shape) func(*loop) {
	codes := g.table512(repeated("codesMinus4x2", 8, -4))
	three := g.load512(g.dwords("dwords3x16", repeat(16, uint32(3))...))
	stack := g.AllocLocal(64)
	return func(l *loop) {
		block := l.rows[0].block
		scales := g.ZMM()
		g.VPMOVSXBD(g.scalesQ3_K(avx512, block), scales)
		g.VCVTDQ2PS(scales, scales)
		g.VMULPS(g.half512(at(block, 108)), scales, scales)
		g.VMOVUPS(scales, stack)
		thirds := [2]reg.VecVirtual{g.bytes512(at(block, 0)), g.bytes512(at(block, 16))}
		var pairs [2]reg.VecVirtual
		for group := range 8 {
			l.loadX(2*group, 2)
			for i := range pairs {
				q, third := g.ZMM(), g.ZMM()
				if group%4 == 0 {
					pairs[i] = g.bytes512(at(block, 32+8*group+16*i))
					g.VMOVAPS(pairs[i], q)
				} else {
					g.VPSRLD(operand.U8(2*(group%4)), pairs[i], q)
				}
				switch { // the third bit to bit 2
				case group < 2:
					g.VPSLLD(operand.U8(2-group), thirds[i], third)
				case group == 2:
					third = thirds[i]
				default:
					g.VPSRLD(operand.U8(group-2), thirds[i], third)
				}
				g.VPTERNLOGD(operand.U8(0xe2), third, three, q) // three ? q : third
				table := g.ZMM()
				g.VMULPS_BCST(stack.Offset(4*(2*group+i)), codes, table)
				l.add(l.rows[0], 2*group+i, g.lookup(table, q, nil, nil))
			}
		}
	}
}

// nvfp4x512 has a scale for 16 elements: low nibbles of 8 bytes, and then the high ones. Where head is 4, a float in front
// is a factor of all scales.
func nvfp4x512(head int) func(*gen, shape) func(*loop) {
	return func(g *gen, _ shape) func(*loop) { return g.nvfp4x512(head) }
}

func (g *gen) nvfp4x512(head int) func(*loop) {
	values := g.table512(&e2m1)
	scales := g.variable("nvfp4Scales")
	shifts := g.XMM()
	g.VMOVDQU32(g.qwords("right0then4", 0, 4), shifts)
	return func(l *loop) {
		block := l.rows[0].block
		l.loadX(0, 4)
		for sub := range 4 {
			bytes, q, table, e := g.XMM(), g.ZMM(), g.ZMM(), g.GP64()
			g.VPBROADCASTQ(at(block, head+4+8*sub), bytes)
			g.VPSRLVQ(shifts, bytes, bytes)
			g.VPMOVZXBD(bytes, q)
			g.MOVBQZX(at(block, head+sub), e)
			of := operand.Mem{Base: scales, Index: e, Scale: 4}
			if head > 0 {
				g.VBROADCASTSS(at(block, 0), table)
				g.VMULPS_BCST(of, table, table)
				g.VMULPS(values, table, table)
			} else {
				g.VMULPS_BCST(of, values, table)
			}
			l.add(l.rows[0], sub, g.lookup(table, q, nil, nil))
		}
	}
}
