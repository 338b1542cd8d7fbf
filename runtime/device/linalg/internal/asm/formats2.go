package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// formats2 are the formats of four bits and more, for AVX2. low2.go has the others.
var formats2 = []format{
	{name: "F32", elems: 32, bytes: 128, begin: plain2(4, (*gen).f32x8), shared: 4},
	{name: "F16", elems: 32, bytes: 64, begin: plain2(2, (*gen).f16x8), shared: 4},
	{name: "BF16", elems: 32, bytes: 64, begin: plain2(2, (*gen).bf16x8), shared: 4},
	{name: "Q4_0", elems: 64, bytes: 36, begin: nibbles2{qs: 2}.begin, folded: true, arranged: pairs, together: 4, int8: pairs8},
	{name: "Q4_1", elems: 64, bytes: 40, begin: nibbles2{min: 2, qs: 4}.begin, folded: true, common: true, arranged: pairs, together: 4, int8: pairs8},
	{name: "Q5_0", elems: 64, bytes: 44, begin: nibbles2{qh: 2, qs: 6}.begin, folded: true, arranged: pairs, together: 2, int8: pairs8},
	{name: "Q5_1", elems: 64, bytes: 48, begin: nibbles2{min: 2, qh: 4, qs: 8}.begin, folded: true, common: true, arranged: pairs, together: 2, int8: pairs8},
	{name: "IQ4_NL", elems: 64, bytes: 36, begin: nibbles2{table: &levels, qs: 2}.begin, folded: true, arranged: pairs, together: 2, int8: signedPairs8},
	{name: "MXFP4", elems: 64, bytes: 34, begin: nibbles2{table: &e2m1, qs: 1, power: true}.begin, folded: true, arranged: pairs, together: 2, int8: signedPairs8},
	{name: "Q8_0", elems: 32, bytes: 34, begin: q8_0x2, folded: true, int8: signedSingle8},
	{name: "Q4_K", elems: 256, bytes: 144, begin: affine2(false), folded: true, common: true, arranged: single, together: 2, int8: super8, begin8: affine8(false)},
	{name: "Q5_K", elems: 256, bytes: 176, begin: affine2(true), folded: true, common: true, arranged: single, together: 2, int8: super8, begin8: affine8(true)},
	{name: "Q6_K", elems: 256, bytes: 210, begin: q6_Kx2, folded: true, arranged: single, together: 4, int8: super8, begin8: q6_K8},
	{name: "IQ4_XS", elems: 256, bytes: 136, begin: iq4_XSx2, folded: true, arranged: single, together: 2, int8: signedSuper8, begin8: iq4_XS8},
}

// plain2 returns begin of a format without blocks (F32, F16, BF16). load converts 8 elements
// of size bytes each to float32.
func plain2(size int, load func(*gen, operand.Mem) reg.VecVirtual) func(*gen, shape) func(*loop) {
	return func(*gen, shape) func(*loop) {
		return func(l *loop) {
			l.loadX(0, 4)
			for _, row := range l.rows {
				for i := range 4 {
					l.add(row, i, load(l.gen, at(row.block, 8*size*i)))
				}
			}
		}
	}
}

// f32x8, f16x8 and bf16x8 load eight elements as float32.
func (g *gen) f32x8(m operand.Mem) reg.VecVirtual { return g.load2(m) }

func (g *gen) f16x8(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VCVTPH2PS(m, v)
	return v
}

func (g *gen) bf16x8(m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VPMOVZXWD(m, v)
	g.VPSLLD(operand.U8(16), v, v)
	return v
}

// nibbles2 is the loop of the formats with blocks of 32 elements in 16 bytes and one scale per
// block: Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL and MXFP4. A step takes two blocks, one in each half
// of the registers. In ggml's layout byte i of qs has element i in its low nibble and element
// 16+i in its high nibble. The fields are byte offsets in the block; 0 means that the
// format has no such field.
type nibbles2 struct {
	table *table // the numbers of the 16 codes; nil: a code is its own number
	min   int    // float16 that is added to every element
	qh    int    // dword with the fifth bit of each element
	qs    int    // 16 bytes of nibbles
	power bool   // the scale is a byte e, for 2^(e-128), instead of a float16
}

// begin is format.begin.
func (n nibbles2) begin(g *gen, t shape) func(*loop) {
	// Nibbles without a table or a fifth bit need no step in bytes: nibbleMasks selects them from dwords.
	plain := n.table == nil && n.qh == 0 && !t.int8
	var low, table operand.Op
	var masks []operand.Op
	if plain {
		masks = g.nibbleMasks(t)
	} else {
		low, masks = g.constant2(t, g.bytes("mask15", repeat(64, byte(15))...)), g.byteMasks(t)
	}
	if n.table != nil {
		table = g.byteTable(t, n.table)
	}
	return func(l *loop) {
		second := l.format.bytes / 2
		var min func(int, row) reg.VecVirtual
		if n.min != 0 {
			min = func(_ int, row row) reg.VecVirtual { return g.halves2(row.block, n.min, second) }
		}
		l.partials(func(p *partial) {
			q := p.each(func(_ int, row row) reg.VecVirtual {
				q, other := g.YMM(), g.YMM()
				g.VBROADCASTI128(at(row.block, n.qs), q)
				g.VBROADCASTI128(at(row.block, second+n.qs), other)
				g.VPBLENDD(operand.U8(0xf0), other, q, q)
				return q
			})
			if n.min == 0 {
				p.begin(0)
			}
			for half := range 2 { // first the low nibbles of both blocks, then the high ones
				codes := p.each(func(r int, row row) reg.VecVirtual {
					v := q[r-p.first()]
					if half == 0 && !plain {
						t := g.YMM()
						g.VPAND(low, v, t)
						v = t
					} else if half == 1 {
						g.VPSRLD(operand.U8(4), v, v)
						if !plain {
							g.VPAND(low, v, v)
						}
					}
					if n.qh != 0 {
						g.VPOR(g.fifthBits(row.block, n.qh, second, half), v, v)
					}
					if table != nil {
						g.lookup2(table, v)
					}
					return v
				})
				p.addBytes(half, codes, masks)
			}
			p.fold(0, func(_ int, row row) reg.VecVirtual { return n.scale(g, row.block, second) }, min)
		})
	}
}

// halves2 converts the float16 at an offset of two blocks to float32: the first block's in
// the lower four lanes, the second block's in the upper four. second is the distance of the blocks in bytes.
func (g *gen) halves2(block reg.Register, offset, second int) reg.VecVirtual {
	v, other := g.YMM(), g.XMM()
	g.VPBROADCASTW(at(block, offset), v.AsX())
	g.VPBROADCASTW(at(block, second+offset), other)
	g.VPBLENDD(operand.U8(0xc), other, v.AsX(), v.AsX())
	g.VCVTPH2PS(v.AsX(), v)
	return v
}

// scale returns the scales of two blocks, each in four lanes.
func (n nibbles2) scale(g *gen, block reg.Register, second int) reg.VecVirtual {
	if !n.power {
		return g.halves2(block, 0, second)
	}
	powers := g.powers()
	base := g.GP64()
	g.LEAQ(powers, base)
	var v [2]reg.VecVirtual
	for i := range v {
		e := g.GP64()
		v[i] = g.YMM()
		g.MOVBQZX(at(block, second*i), e)
		g.VBROADCASTSS(operand.Mem{Base: base, Index: e, Scale: 4}, v[i])
	}
	g.VBLENDPS(operand.U8(0xf0), v[1], v[0], v[0])
	return v[0]
}

// byteTable returns the 16 entries of a table as bytes, once in each half of a register,
// because VPSHUFB looks up within halves. In the loops over bytes the entries are signed. In the loops over
// floats the smallest entry is subtracted from each, which makes them unsigned.
func (g *gen) byteTable(t shape, of *table) operand.Op {
	name, smallest := of.name+"Bytes", slices.Min(of.values[:])
	if t.int8 {
		name, smallest = of.name+"Signed", 0
	}
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(int(of.values[i%16] - smallest))
	}
	return g.constant2(t, g.bytes(name, b...))
}

// lookup2 replaces each byte of index by table[index].
func (g *gen) lookup2(table operand.Op, index reg.Register) {
	if m, ok := table.(operand.Mem); ok {
		table = g.load2(m)
	}
	g.VPSHUFB(index, table, index)
}

// fifthBits returns the fifth bits of 16 elements of each of two blocks, as the value 16 or 0
// of a byte. Byte i of a half of the register has bit 16·half + i of the dword qh, which is at
// an offset of that half's block.
func (g *gen) fifthBits(block reg.Register, offset, second, half int) reg.VecVirtual {
	var source, bit []byte
	for i := range 32 {
		source = append(source, byte(2*half+i%16/8))
		bit = append(bit, 1<<(i%8))
	}
	sources, bits := g.bytes(fmt.Sprintf("bitSource%d", half), source...), g.bytes("bitMask", bit...)
	v, other := g.YMM(), g.YMM()
	g.VPBROADCASTD(at(block, offset), v)
	g.VPBROADCASTD(at(block, second+offset), other)
	g.VPBLENDD(operand.U8(0xf0), other, v, v)
	g.VPSHUFB(sources, v, v)
	g.VPAND(bits, v, v)
	g.VPCMPEQB(bits, v, v)
	g.VPAND(g.bytes("mask16", repeat(32, byte(16))...), v, v)
	return v
}

// q8_0x2 is the loop of Q8_0: a float16 scale, then 32 signed bytes.
func q8_0x2(_ *gen, t shape) func(*loop) {
	return func(l *loop) {
		if !t.int8 {
			l.loadX(0, 4)
		}
		l.partials(func(p *partial) {
			if t.int8 {
				p.addProducts(0, p.each(func(_ int, row row) reg.VecVirtual { return l.load2(at(row.block, 2)) }))
			}
			for i := 0; i < 4 && !t.int8; i++ {
				p.add(i, func(r int) reg.VecVirtual { return l.widen(at(p.rows[r].block, 2+8*i)) })
			}
			p.fold(0, func(_ int, row row) reg.VecVirtual { return l.half2(at(row.block, 0)) }, nil)
		})
	}
}

// affine2 returns begin of Q4_K or, with fifth bits, Q5_K. Before a block is multiplied,
// storeScales writes its scales and minima to the stack as floats; each sub-block then
// broadcasts its own.
func affine2(fifth bool) func(*gen, shape) func(*loop) {
	qs := 16
	if fifth {
		qs = 48
	}
	return func(g *gen, t shape) func(*loop) {
		masks := g.nibbleMasks(t)
		var low operand.Op
		if fifth {
			low, masks = g.constant2(t, g.bytes("mask15", repeat(64, byte(15))...)), g.byteMasks(t)
		}
		scales := g.AllocLocal(64 * t.rows)
		return func(l *loop) {
			for r, row := range l.rows {
				g.storeScales(row.block, scales.Offset(64*r))
			}
			for sub := range 8 {
				l.partials(func(p *partial) {
					q := p.each(func(_ int, row row) reg.VecVirtual {
						q := g.YMM()
						g.VMOVDQU(at(row.block, qs+32*(sub/2)), q)
						if sub%2 == 1 {
							g.VPSRLW(operand.U8(4), q, q)
						}
						if fifth {
							g.VPAND(low, q, q)
							g.VPOR(g.fifthBitsOf(sub, at(row.block, 16)), q, q)
						}
						return q
					})
					p.addBytes(sub, q, masks)
					p.fold(sub,
						func(r int, _ row) reg.VecVirtual { return g.broadcast2(scales.Offset(64*r + 4*sub)) },
						func(r int, _ row) reg.VecVirtual { return g.broadcast2(scales.Offset(64*r + 32 + 4*sub)) })
				})
			}
		}
	}
}

// storeScales writes 16 floats to m: the block's 8 scales times d, then its 8 minima times dmin.
func (g *gen) storeScales(block reg.Register, m operand.Mem) {
	head, packed := g.unpackScales(avx2, block)
	halves := g.XMM()
	g.VCVTPH2PS(head, halves)
	for i := range 2 {
		if i == 1 {
			g.VPSRLDQ(operand.U8(8), packed, packed)
			g.VPSRLDQ(operand.U8(4), halves, halves)
		}
		d, values := g.YMM(), g.YMM()
		g.VBROADCASTSS(halves, d)
		g.VPMOVZXBD(packed, values)
		g.VCVTDQ2PS(values, values)
		g.VMULPS(d, values, values)
		g.VMOVUPS(values, m.Offset(32*i))
	}
}

// fifthBitsOf returns bit sub of each of the 32 bytes at m, as bit 4 of the byte.
func (g *gen) fifthBitsOf(sub int, m operand.Mem) reg.VecVirtual {
	v := g.YMM()
	g.VMOVDQU(m, v)
	if sub < 4 {
		g.VPSLLW(operand.U8(4-sub), v, v)
	} else if sub > 4 {
		g.VPSRLW(operand.U8(sub-4), v, v)
	}
	g.VPAND(g.bytes("mask16", repeat(32, byte(16))...), v, v)
	return v
}

// q6_Kx2 is the loop of Q6_K. It keeps the 16 scales of a block, times d, as floats on the stack.
func q6_Kx2(g *gen, t shape) func(*loop) {
	var low operand.Op = g.bytes("mask15", repeat(64, byte(15))...)
	masks := g.masks("byte", 0xff, 3, 2)
	if t.rows*t.inputs < 4 {
		low, masks = g.constant2(t, low.(operand.Mem)), g.byteMasks(t)
	}
	upper := g.bytes("mask48", repeat(32, byte(48))...)
	halves := g.dwords("laneOfHalf", 0, 0, 0, 0, 1, 1, 1, 1)
	scales := g.AllocLocal(64 * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			d := g.half2(at(row.block, 208))
			for i := range 2 {
				s := g.widen(at(row.block, 192+8*i))
				g.VMULPS(d, s, s)
				g.VMOVUPS(s, scales.Offset(64*r+32*i))
			}
		}
		for group := range 8 { // of 32 elements; each half of a register has 16, which share a scale
			l.partials(func(p *partial) {
				q := p.each(func(_ int, row row) reg.VecVirtual { return g.bytesQ6_K(row.block, group, low, upper) })
				p.begin(group)
				p.addBytes(group, q, masks)
				p.fold(group, func(r int, _ row) reg.VecVirtual {
					scale := g.YMM()
					g.VBROADCASTSD(scales.Offset(64*r+8*group), scale)
					g.VPERMILPS(halves, scale, scale)
					return scale
				}, nil)
			})
		}
	}
}

// bytesQ6_K returns the 32 codes of a group as bytes of 0 to 63. Of each 128 elements (half),
// with k the group in the half, ggml's block_q6_K keeps
//
//	bits 0–3  low (k < 2) or high nibble of byte 64·half + 32·(k%2) + i of ql
//	bits 4–5  bits 2k and 2k+1 of byte 32·half + i of qh
func (g *gen) bytesQ6_K(block reg.Register, group int, low, upper operand.Op) reg.VecVirtual {
	half, k := group/4, group%4
	q, high := g.YMM(), g.YMM()
	g.VMOVDQU(at(block, 64*half+32*(k%2)), q)
	g.VMOVDQU(at(block, 128+32*half), high)
	// Move bits 2k and 2k+1 of the bytes of qh to bits 4 and 5.
	switch k {
	case 0:
		g.VPSLLW(operand.U8(4), high, high)
	case 1:
		g.VPSLLW(operand.U8(2), high, high)
	case 3:
		g.VPSRLW(operand.U8(2), high, high)
	}
	if k >= 2 {
		g.VPSRLW(operand.U8(4), q, q)
	}
	g.VPAND(low, q, q)
	g.VPAND(upper, high, high)
	g.VPOR(high, q, q)
	return q
}

// nibbles returns 32 bytes whose low nibbles are the low nibbles of the 16 bytes at m, then
// their high nibbles. The upper four bits of a result byte are not cleared.
func (g *gen) nibbles(m operand.Mem) reg.VecVirtual {
	q := g.YMM()
	g.VBROADCASTI128(m, q)
	g.VPSRLVQ(g.qwords("right0or4", 0, 0, 4, 4), q, q)
	return q
}

// panelKind returns the kind of panel that a folded format fills. Q8_0 has no arranged inputs, and so no sums of inputs.
func (f format) panelKind() panelKind {
	vectors, arranged := 4, f.arranged != nil
	if arranged {
		vectors = f.arranged.vectors
	}
	for _, k := range panelKinds2 {
		if k.vectors == vectors && k.arranged == arranged && k.common == f.common {
			return k
		}
	}
	panic("no panel for " + f.name)
}
