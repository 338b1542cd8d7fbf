package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// formats512 are the formats of four bits and more, for AVX-512. low512.go has the others.
var formats512 = []format{
	{name: "F32", elems: 32, bytes: 128, begin: plain512(4, (*gen).f32x16), shared: 8},
	{name: "F16", elems: 32, bytes: 64, begin: plain512(2, (*gen).f16x16), shared: 8},
	{name: "BF16", elems: 32, bytes: 64, begin: plain512(2, (*gen).bf16x16), shared: 8},
	{name: "Q4_0", elems: 32, bytes: 18, begin: nibbles512{table: &fromMinus8, qs: 2}.begin, shared: 8},
	{name: "Q4_1", elems: 32, bytes: 20, begin: nibbles512{table: &from0, min: 2, qs: 4}.begin, shared: 8},
	{name: "Q5_0", elems: 32, bytes: 22, begin: nibbles512{table: &fromMinus16, upper: &from0, qh: 2, qs: 6}.begin, shared: 8},
	{name: "Q5_1", elems: 32, bytes: 24, begin: nibbles512{table: &from0, upper: &from16, min: 2, qh: 4, qs: 8}.begin, shared: 8},
	{name: "IQ4_NL", elems: 32, bytes: 18, begin: nibbles512{table: &levels, qs: 2}.begin, shared: 8},
	{name: "MXFP4", elems: 32, bytes: 17, begin: nibbles512{table: &e2m1, qs: 1, power: true}.begin, shared: 8},
	{name: "Q8_0", elems: 32, bytes: 34, begin: q8_0x512, shared: 8},
	{name: "Q4_K", elems: 256, bytes: 144, begin: affine512{qs: 16}.begin, shared: 4},
	{name: "Q5_K", elems: 256, bytes: 176, begin: affine512{qs: 48, qh: 16}.begin, shared: 4},
	{name: "Q6_K", elems: 256, bytes: 210, begin: q6_Kx512, shared: 8},
	{name: "IQ4_XS", elems: 256, bytes: 136, begin: iq4_XSx512, shared: 8},
}

// plain512 returns begin of a format without blocks (F32, F16, BF16). load converts 16
// elements of size bytes each to float32.
func plain512(size int, load func(*gen, operand.Mem) reg.VecVirtual) func(*gen, shape) func(*loop) {
	return func(*gen, shape) func(*loop) {
		return func(l *loop) {
			l.loadX(0, 2)
			for _, row := range l.rows {
				for i := range 2 {
					l.add(row, i, load(l.gen, at(row.block, 16*size*i)))
				}
			}
		}
	}
}

// f32x16, f16x16 and bf16x16 load 16 elements as float32.
func (g *gen) f32x16(m operand.Mem) reg.VecVirtual { return g.load512(m) }

func (g *gen) f16x16(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VCVTPH2PS(m, v)
	return v
}

func (g *gen) bf16x16(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPMOVZXWD(m, v)
	g.VPSLLD(operand.U8(16), v, v)
	return v
}

// nibbles512 is the loop of the formats with blocks of 32 elements in 16 bytes and one scale
// per block (see nibbles2 for the layout). The loop scales the table once per block, and adds
// the minimum to it. So a vector of weights costs one permutation. The fields are byte
// offsets in the block; 0 means that the format has no such field.
type nibbles512 struct {
	table *table // the numbers of the 16 codes
	upper *table // the numbers of the codes whose fifth bit is set; nil: none
	min   int    // float16 that is added to every element
	qh    int    // dword with the fifth bit of each element
	qs    int    // 16 bytes of nibbles
	power bool   // the scale is a byte e, for 2^(e-128), instead of a float16
}

// begin is format.begin.
func (n nibbles512) begin(g *gen, _ shape) func(*loop) {
	table := g.table512(n.table)
	var upper reg.VecVirtual
	if n.upper != nil {
		upper = g.table512(n.upper)
	}
	return func(l *loop) {
		l.loadX(0, 2)
		for _, row := range l.rows {
			scale := n.scale(g, row.block)
			var min reg.VecVirtual
			if n.min != 0 {
				min = g.half512(at(row.block, n.min))
			}
			scaled := g.scaleTable(table, scale, min)
			var scaledUpper reg.VecVirtual
			if n.upper != nil {
				scaledUpper = g.scaleTable(upper, scale, min)
			}
			q := g.bytes512(at(row.block, n.qs))
			for i := range 2 {
				if i == 1 {
					g.VPSRLD(operand.U8(4), q, q)
				}
				var mask reg.Register
				if n.qh != 0 {
					mask = g.K()
					g.KMOVW(at(row.block, n.qh+2*i), mask)
				}
				l.add(row, i, g.lookup(scaled, q, scaledUpper, mask))
			}
		}
	}
}

// scale returns the block's scale in all lanes.
func (n nibbles512) scale(g *gen, block reg.Register) reg.VecVirtual {
	if !n.power {
		return g.half512(at(block, 0))
	}
	powers := g.powers()
	e, base, v := g.GP64(), g.GP64(), g.ZMM()
	g.MOVBQZX(at(block, 0), e)
	g.LEAQ(powers, base)
	g.VBROADCASTSS(operand.Mem{Base: base, Index: e, Scale: 4}, v)
	return v
}

// scaleTable returns table·scale + min; min may be nil.
func (g *gen) scaleTable(table, scale reg.Register, min reg.VecVirtual) reg.VecVirtual {
	t := g.ZMM()
	if min == nil {
		g.VMULPS(scale, table, t)
		return t
	}
	g.VMOVAPS(table, t)
	g.VFMADD213PS(min, scale, t)
	return t
}

// q8_0x512 is the loop of Q8_0: a float16 scale, then 32 signed bytes.
func q8_0x512(*gen, shape) func(*loop) {
	return func(l *loop) {
		l.loadX(0, 2)
		for _, row := range l.rows {
			scale := l.half512(at(row.block, 0))
			for i := range 2 {
				w := l.ZMM()
				l.VPMOVSXBD(at(row.block, 2+16*i), w)
				l.VCVTDQ2PS(w, w)
				l.VMULPS(scale, w, w)
				l.add(row, i, w)
			}
		}
	}
}

// affine512 is the loop of Q4_K and Q5_K. Before a block is multiplied, its scales and
// minima are written to the stack as floats; each sub-block then broadcasts its own.
type affine512 struct {
	qs int // byte offset of the nibbles
	qh int // byte offset of the fifth bits; 0: none
}

// tables512 has the constants of affine512, and the address of the scales.
type tables512 struct {
	lower, upper reg.VecVirtual // the numbers 0 to 15 and 16 to 31
	nibble       reg.VecVirtual // 15 in every dword: the bits of a code that qs gives
	scales       operand.Mem    // per row 16 floats: 8 scales times d, 8 minima times dmin
}

// begin is format.begin.
func (a affine512) begin(g *gen, s shape) func(*loop) {
	t := tables512{lower: g.table512(&from0), scales: g.AllocLocal(64 * s.rows)}
	spread := g.load512(g.dwords("spread", append(repeat(8, uint32(0)), repeat(8, uint32(1))...)...)) // eight lanes of d, eight of dmin
	if a.qh != 0 {
		t.upper, t.nibble = g.table512(&from16), g.load512(g.dwords("dwords15x16", repeat(16, uint32(15))...))
	}
	return func(l *loop) {
		var fifths [][2]reg.VecVirtual // per row: qh as dwords, with the fifth bits of the next sub-block at bit 4
		for r, row := range l.rows {
			head, packed := g.unpackScales(avx512, row.block)
			both, d := g.ZMM(), g.ZMM()
			g.VPMOVZXBD(packed, both)
			g.VCVTDQ2PS(both, both)
			g.VCVTPH2PS(head, d.AsX())
			g.VPERMPS(d, spread, d)
			g.VMULPS(d, both, both)
			g.VMOVUPS(both, t.scales.Offset(64*r))
			if a.qh != 0 {
				qh := [2]reg.VecVirtual{g.bytes512(row.at(a.qh)), g.bytes512(row.at(a.qh + 16))}
				for _, v := range qh {
					g.VPSLLD(operand.U8(4), v, v)
				}
				fifths = append(fifths, qh)
			}
		}
		for pair := range 4 { // two sub-blocks of 32 elements: low and high nibbles of the same bytes of qs
			l.loadX(4*pair, 4)
			for r := range l.rows {
				var qh [2]reg.VecVirtual
				if a.qh != 0 {
					qh = fifths[r]
				}
				a.addPair(l, t, pair, r, qh)
			}
		}
	}
}

// addPair adds two sub-blocks of row r: first the low nibbles, then the high ones. On entry
// bit 4 of each dword of qh is the fifth bit of an element of the first sub-block. On return it is
// that of the sub-block after the pair.
func (a affine512) addPair(l *loop, t tables512, pair, r int, qh [2]reg.VecVirtual) {
	row := l.rows[r]
	var q [2]reg.VecVirtual
	for i := range q {
		q[i] = l.bytes512(row.at(a.qs + 32*pair + 16*i))
	}
	for sub := 2 * pair; sub < 2*pair+2; sub++ {
		scale, min := t.scales.Offset(64*r+4*sub), t.scales.Offset(64*r+32+4*sub)
		var tables [2]reg.VecVirtual
		if a.qh == 0 {
			tables[0] = l.affineTable(t.lower, scale, min)
		} else {
			m := l.ZMM()
			l.VBROADCASTSS(min, m)
			tables = [2]reg.VecVirtual{l.ZMM(), l.ZMM()}
			l.VBROADCASTSS(scale, tables[0])
			l.VMOVAPS(tables[0], tables[1])
			l.VFMSUB213PS(m, t.lower, tables[0])
			l.VFMSUB213PS(m, t.upper, tables[1])
		}
		for i := range q {
			if sub%2 == 1 {
				l.VPSRLD(operand.U8(4), q[i], q[i])
			}
			if a.qh == 0 {
				l.add(row, 2*sub+i, l.lookup(tables[0], q[i], nil, nil))
				continue
			}
			w := l.ZMM()
			l.VMOVAPS(q[i], w)
			l.VPTERNLOGD(operand.U8(0xe2), qh[i], t.nibble, w) // nibble ? q : fifth
			l.VPERMI2PS(tables[1], tables[0], w)
			if sub < 7 {
				l.VPSRLD(operand.U8(1), qh[i], qh[i])
			}
			l.add(row, 2*sub+i, w)
		}
	}
}

// affineTable returns table·scale - min. scale and min are float32 in memory.
func (g *gen) affineTable(table reg.Register, scale, min operand.Mem) reg.VecVirtual {
	t := g.ZMM()
	g.VBROADCASTSS(scale, t)
	g.VFMSUB213PS_BCST(min, table, t)
	return t
}

// q6_Kx512 is the loop of Q6_K. It builds the codes of 64 elements as bytes, and stores them on the stack.
// From there VPMOVSXBD widens 16 of them at a time; from a register each part would
// have to be moved down first. The 16 scales of a block, times d, are floats on the stack.
func q6_Kx512(g *gen, t shape) func(*loop) {
	codes := g.codesQ6_K()
	bias := g.load512(g.bytes("bias32", repeat(64, byte(32))...))
	scales, bytes := g.AllocLocal(64*t.rows), g.AllocLocal(64*t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			scale := g.ZMM()
			g.VPMOVSXBD(at(row.block, 192), scale)
			g.VCVTDQ2PS(scale, scale)
			g.VMULPS(g.half512(at(row.block, 208)), scale, scale)
			g.VMOVUPS(scale, scales.Offset(64*r))
		}
		for group := range 4 { // 64 elements: twice 32 that share their bytes of qh
			l.loadX(4*group, 4)
			for r, row := range l.rows {
				q := codes(row.block, group)
				g.VPSUBB(bias, q, q)
				g.VMOVDQU32(q, bytes.Offset(64*r))
				for i := range 4 {
					w := g.ZMM()
					g.VPMOVSXBD(bytes.Offset(64*r+16*i), w)
					g.VCVTDQ2PS(w, w)
					g.VMULPS_BCST(scales.Offset(64*r+16*group+4*i), w, w)
					l.add(row, 4*group+i, w)
				}
			}
		}
	}
}

// codesQ6_K returns a function that emits the 64 codes of a group as bytes of 0 to 63. The
// two halves of the register share their bytes of qh; see bytesQ6_K for the layout.
func (g *gen) codesQ6_K() func(block reg.Register, group int) reg.VecVirtual {
	low := g.load512(g.bytes("mask15", repeat(64, byte(15))...))
	all := g.load512(g.bytes("mask63", repeat(64, byte(63))...))
	left := g.load512(g.qwords("left4or2", append(repeat(4, uint64(4)), repeat(4, uint64(2))...)...))
	right := g.load512(g.qwords("right0or2", append(repeat(4, uint64(0)), repeat(4, uint64(2))...)...))
	return func(block reg.Register, group int) reg.VecVirtual {
		q, high := g.ZMM(), g.ZMM()
		g.VMOVDQU32(at(block, 64*(group/2)), q)
		g.VBROADCASTI64X4(at(block, 128+32*(group/2)), high)
		// Move the two upper bits of each code to bits 4 and 5; q has bits 0 to 3.
		if group%2 == 0 {
			g.VPSLLVQ(left, high, high)
		} else {
			g.VPSRLVQ(right, high, high)
			g.VPSRLW(operand.U8(4), q, q)
		}
		g.VPTERNLOGD(operand.U8(0xe2), high, low, q) // low ? q : high
		g.VPANDD(all, q, q)
		return q
	}
}

// iq4_XSx512 is the loop of IQ4_XS. It scales the table of levels once per sub-block of 32.
func iq4_XSx512(g *gen, t shape) func(*loop) {
	table := g.table512(&levels)
	scales := g.AllocLocal(32 * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			g.VMOVUPS(g.scalesIQ4_XS(avx512, row.block), scales.Offset(32*r))
		}
		for sub := range 8 {
			l.loadX(2*sub, 2)
			for r, row := range l.rows {
				scaled := g.ZMM()
				g.VMULPS_BCST(scales.Offset(32*r+4*sub), table, scaled)
				q := g.bytes512(at(row.block, 8+16*sub))
				for i := range 2 {
					if i == 1 {
						g.VPSRLD(operand.U8(4), q, q)
					}
					l.add(row, 2*sub+i, g.lookup(scaled, q, nil, nil))
				}
			}
		}
	}
}
