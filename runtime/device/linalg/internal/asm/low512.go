package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// formatsLow512 are the formats below four bits, and NVFP4, for AVX-512, with one input. The
// loops take one row or four rows, whose sums do not wait for each other. VPERMPS looks 16 codes
// up in a table of 16 floats, which is scaled once per sub-block. It uses bits 0–3 of a code and
// ignores the others. So a two- or three-bit code needs neither a mask nor a shift, if the table
// has the same number for all values of the bits that are not part of the code:
//
//	code in bits 0–1 of the index: entry e has number e&3
//	code in bits 2–3 of the index: entry e has number e>>2
//
// TQ1_0 and the formats with code books keep the loops of AVX2. An entry of a code book is eight
// floats, and joining two entries takes more instructions than a wider register saves.
var formatsLow512 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_Kx512, few: true, shared: 2},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_Kx512, few: true, shared: 2},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_0x512, few: true, shared: 2},
	{name: "Q1_0", elems: 128, bytes: 18, begin: q1_0x512, few: true},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_0x512, few: true, shared: 4},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp4x512(0), few: true, shared: 4},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp4x512(4), few: true, shared: 4},
}

// numbersOf returns a table whose entry e is first + code(e).
func numbersOf(name string, first int, code func(entry int) int) *table {
	t := table{name: name}
	for i := range t.values {
		t.values[i] = float32(first + code(i))
	}
	return &t
}

// twoBitTables returns two tables of the numbers first to first+3: for codes in bits 0–1 of an
// index, and for codes in bits 2–3.
func (g *gen) twoBitTables(name string, first int) [2]reg.VecVirtual {
	return [2]reg.VecVirtual{
		g.table512(numbersOf(name+"x4", first, func(i int) int { return i % 4 })),
		g.table512(numbersOf(name+"each4", first, func(i int) int { return i / 4 })),
	}
}

// pairs512 is pairs2 with 16 elements per vector. table returns the 16 floats of row r and
// sub-block s of the block. place is 0 if the codes are in bits 0–1 of the index, and 1 if they are in
// bits 2–3; see twoBitTables.
func (l *loop) pairs512(offset int, table func(r, s, place int) reg.VecVirtual) {
	for h := range 2 {
		codes := make([][2]reg.VecVirtual, len(l.rows))
		for r, row := range l.rows {
			codes[r] = [2]reg.VecVirtual{l.bytes512(row.at(offset + 32*h)), l.bytes512(row.at(offset + 32*h + 16))}
		}
		for k := range 4 {
			group := 4*h + k
			l.loadX(2*group, 2)
			for r, row := range l.rows {
				for i, q := range codes[r] {
					if k == 2 {
						l.VPSRLD(operand.U8(4), q, q)
					}
					l.add(row, 2*group+i, l.lookup(table(r, 2*group+i, k%2), q, nil, nil))
				}
			}
		}
	}
}

// q2_Kx512 is the loop of Q2_K; see q2_Kx2 for the layout. The stack has per row 16 scales
// times d as floats, and then 16 minima times dmin.
func q2_Kx512(g *gen, t shape) func(*loop) {
	codes := g.twoBitTables("codes0123", 0)
	low := g.load512(g.dwords("dwords15x16", repeat(16, uint32(15))...))
	stack, factors := g.AllocLocal(128*t.rows), g.AllocLocal(8*t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			d, scales, minima := g.XMM(), g.ZMM(), g.bytes512(row.at(0))
			g.VMOVD(row.at(80), d) // d and dmin
			g.VCVTPH2PS(d, d)
			g.VMOVQ(d, factors.Offset(8*r))
			g.VPANDD(low, minima, scales)
			g.VPSRLD(operand.U8(4), minima, minima)
			for i, q := range []reg.VecVirtual{scales, minima} {
				g.VCVTDQ2PS(q, q)
				g.VMULPS_BCST(factors.Offset(8*r+4*i), q, q)
				g.VMOVUPS(q, stack.Offset(128*r+64*i))
			}
		}
		l.pairs512(16, func(r, s, place int) reg.VecVirtual {
			return g.affineTable(codes[place], stack.Offset(128*r+4*s), stack.Offset(128*r+64+4*s))
		})
	}
}

// tq2_0x512 is the loop of TQ2_0. A block has one pair of tables.
func tq2_0x512(g *gen, _ shape) func(*loop) {
	codes := g.twoBitTables("codesMinus1", -1)
	return func(l *loop) {
		var tables [][2]reg.VecVirtual
		for _, row := range l.rows {
			d, of := g.half512(row.at(64)), [2]reg.VecVirtual{g.ZMM(), g.ZMM()}
			for i := range of {
				g.VMULPS(codes[i], d, of[i])
			}
			tables = append(tables, of)
		}
		l.pairs512(0, func(r, _, place int) reg.VecVirtual { return tables[r][place] })
	}
}

// q2_0x512 is the loop of Q2_0: each lane shifts its code of a dword down, as in q2_0x2.
func q2_0x512(g *gen, _ shape) func(*loop) {
	codes := g.twoBitTables("codesMinus1", -1)[0]
	var list []uint32
	for i := range uint32(16) {
		list = append(list, 2*i)
	}
	shifts := g.load512(g.dwords("shifts2all", list...))
	return func(l *loop) {
		l.loadX(0, 4)
		for _, row := range l.rows {
			table := g.half512(row.at(0))
			g.VMULPS(codes, table, table)
			for i := range 4 {
				q := g.ZMM()
				g.VPBROADCASTD(row.at(2+4*i), q)
				g.VPSRLVD(shifts, q, q)
				l.add(row, i, g.lookup(table, q, nil, nil))
			}
		}
	}
}

// q1_0x512 is the loop of Q1_0: it flips the sign of d where a bit is 0, as in q1_0x2.
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
		l.loadX(0, 8)
		for _, row := range l.rows {
			d := g.half512(row.at(0))
			for i := range 4 {
				bits := g.ZMM()
				g.VPBROADCASTD(row.at(2+4*i), bits)
				for k, shift := range shifts {
					w := g.ZMM()
					g.VPSLLVD(shift, bits, w)
					g.VPTERNLOGD(operand.U8(0xc6), sign, d, w) // d ^ (sign &^ w)
					l.add(row, 2*i+k, w)
				}
			}
		}
	}
}

// q3_Kx512 is the loop of Q3_K; see q3_Kx2 for the layout. A code of three bits stays where two
// shifted bytes leave it: VPTERNLOGD takes the two lower bits from the byte of codes, and all
// other bits from the byte of third bits. VPERMPS looks the result up:
//
//	index bit           3          2          1          0
//	groups 0, 2, 4, 6   ignored    third bit  code bit 1 code bit 0
//	groups 1, 3, 5, 7   code bit 1 code bit 0 third bit  ignored
//
// Each of the two tables has the same number for both values of the ignored bit. So of the eight
// groups of 32 elements only two shift the codes, and five shift the third bits.
func q3_Kx512(g *gen, t shape) func(*loop) {
	places := [2]struct{ codes, mask reg.VecVirtual }{
		{g.table512(numbersOf("codesMinus4x2", -4, func(i int) int { return i % 8 })), g.load512(g.dwords("dwords3x16", repeat(16, uint32(3))...))},
		{g.table512(numbersOf("codesMinus4upper", -4, func(i int) int { return i/4 + i/2%2*4 })), g.load512(g.dwords("dwords12x16", repeat(16, uint32(12))...))},
	}
	// down has for each group the position of its third bit in hmask (the group's number), less the index bit where it has to be.
	// Between two groups the third bits move down by the difference; group 0 moves them up by 2.
	down := [8]int{-2, 0, 0, 2, 2, 4, 4, 6}
	const size = 64
	stack := g.AllocLocal(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			scales := g.ZMM()
			g.VPMOVSXBD(g.scalesQ3_K(avx512, row.block), scales)
			g.VCVTDQ2PS(scales, scales)
			g.VMULPS(g.half512(row.at(108)), scales, scales)
			g.VMOVUPS(scales, stack.Offset(size*r))
		}
		var pairs, thirds [4][2]reg.VecVirtual // bytes of two-bit codes and of third bits, per row
		for group, shift := range down {
			l.loadX(2*group, 2)
			for r, row := range l.rows {
				for i := range 2 {
					switch group % 4 {
					case 0:
						pairs[r][i] = g.bytes512(row.at(32 + 8*group + 16*i))
					case 2:
						g.VPSRLD(operand.U8(4), pairs[r][i], pairs[r][i])
					}
					switch {
					case group == 0:
						thirds[r][i] = g.bytes512(row.at(16 * i))
						g.VPSLLD(operand.U8(-shift), thirds[r][i], thirds[r][i])
					case shift > down[group-1]:
						g.VPSRLD(operand.U8(shift-down[group-1]), thirds[r][i], thirds[r][i])
					}
					place, q, table := places[group%2], g.ZMM(), g.ZMM()
					g.VMOVAPS(pairs[r][i], q)
					g.VPTERNLOGD(operand.U8(0xe2), thirds[r][i], place.mask, q) // mask ? q : third
					g.VMULPS_BCST(stack.Offset(size*r+4*(2*group+i)), place.codes, table)
					l.add(row, 2*group+i, g.lookup(table, q, nil, nil))
				}
			}
		}
	}
}

// nvfp4x512 returns begin of NVFP4; see nvfp4x2 for the layout and for head.
func nvfp4x512(head int) func(*gen, shape) func(*loop) {
	return func(g *gen, _ shape) func(*loop) { return g.nvfp4x512(head) }
}

// nvfp4x512 scales the table of e2m1 once per sub-block of 16.
func (g *gen) nvfp4x512(head int) func(*loop) {
	values := g.table512(&e2m1)
	scales := g.variable("nvfp4Scales")
	shifts := g.XMM()
	g.VMOVDQU32(g.qwords("right0then4", 0, 4), shifts)
	return func(l *loop) {
		l.loadX(0, 4)
		for _, row := range l.rows {
			for sub := range 4 {
				bytes, q, table, e := g.XMM(), g.ZMM(), g.ZMM(), g.GP64()
				g.VPBROADCASTQ(row.at(head+4+8*sub), bytes)
				g.VPSRLVQ(shifts, bytes, bytes)
				g.VPMOVZXBD(bytes, q)
				g.MOVBQZX(row.at(head+sub), e)
				of := operand.Mem{Base: scales, Index: e, Scale: 4}
				if head > 0 {
					g.VBROADCASTSS(row.at(0), table)
					g.VMULPS_BCST(of, table, table)
					g.VMULPS(values, table, table)
				} else {
					g.VMULPS_BCST(of, values, table)
				}
				l.add(row, sub, g.lookup(table, q, nil, nil))
			}
		}
	}
}
