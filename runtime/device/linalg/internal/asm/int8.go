package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loops over inputs of signed bytes, with one scale per 32 inputs: the mat-vec loops of the AVX2
// formats with another multiplication.
//
//	VPMADDUBSW  two products of bytes → a sum of 16 bits (at most 2·128·127, which fits)
//	VPMADDWD    two such sums         → a sum of 32 bits
//
// Sums of 32 bits become floats. With codes of at most 31, sums of four products fit 16 bits, too.

// int8Of returns the format whose loops take inputs of bytes.
func int8Of(f format) format {
	f.name += "Int8"
	f.arranged = f.int8
	if f.begin8 != nil {
		f.begin = f.begin8
		f.together = min(f.together, 2) // scales and codes need registers
	}
	return f
}

// quantised says whether the inputs are bytes.
func (l *loop) quantised() bool { return l.arranged != nil && l.arranged.int8 }

// products multiplies 32 elements of every row, the bytes of its q, by the i-th 32 inputs of arranged
// x. It calls add for each row and input with 16 sums of two products, 16 bits each.
func (p *partial) products(i int, q []reg.VecVirtual, add func(r, j int, t reg.VecVirtual)) {
	magnitudes := q
	if p.arranged.signed {
		magnitudes = p.each(func(r int, _ row) reg.VecVirtual {
			m := p.isa.vector(p.gen)
			p.VPABSB(q[r-p.first()], m)
			return m
		})
	}
	for j, input := range p.inputs {
		var x operand.Op = at(input, p.arranged.bytesAt(i))
		if p.arranged.signed || len(p.rows) > 1 {
			x = p.load2(x.(operand.Mem))
		}
		for r := range p.rows {
			t := p.isa.vector(p.gen)
			if p.arranged.signed { // |w|·(x with the sign of w): VPMADDUBSW takes one unsigned factor
				p.VPSIGNB(q[r], x, t)
				p.VPMADDUBSW(t, magnitudes[r], t)
			} else {
				p.VPMADDUBSW(x, magnitudes[r], t)
			}
			add(r, j, t)
		}
	}
}

// addProducts adds products to partial sums of 32 bits if p is wide, else of 16 bits.
func (p *partial) addProducts(i int, q []reg.VecVirtual) {
	p.products(i, q, func(r, j int, t reg.VecVirtual) {
		if p.wide() {
			p.VPMADDWD(p.ones16(), t, t)
		}
		switch {
		case len(p.sums[r]) == j:
			p.sums[r] = append(p.sums[r], t)
		case p.wide():
			p.VPADDD(t, p.sums[r][j], p.sums[r][j])
		default:
			p.VPADDW(t, p.sums[r][j], p.sums[r][j])
		}
	})
}

// wide says that sums of four products may exceed 16 bits.
func (p *partial) wide() bool { return p.arranged == signedPairs8 }

// widenProducts turns the partial sums of input j into floats. It widens what addProducts left to 32 bits,
// adds the sums of group i of arranged x if p.begun, and multiplies by the group's scales.
func (p *partial) widenProducts(i, j int, sum reg.VecVirtual) {
	if !p.wide() {
		p.VPMADDWD(p.ones16(), sum, sum)
	}
	if p.begun {
		p.VPADDD(at(p.inputs[j], p.arranged.sumAt(i)), sum, sum)
	}
	p.VCVTDQ2PS(sum, sum)
	p.VMULPS(at(p.inputs[j], p.arranged.scaleAt(i)), sum, sum)
}

// ones16 returns 16 words of 1: VPMADDWD with it adds pairs of words.
func (g *gen) ones16() operand.Mem { return g.dwords("ones16", repeat(8, uint32(0x00010001))...) }

// int8Loop emits the function that arranges x as bytes. A block of 32 elements gets the scale
// max|x|/127 and the integers nearest to x/scale. The scale is NaN if an element is not finite.
// Lane i of a group's sums adds up elements 4i to 4i+3 of every 32 bytes, times the argument
// common. With floats false the sums are 32-bit integers, and correct for the number that codes
// count from. With floats true they are floats, times the scale, and multiply the minimum of a row.
func (g *gen) int8Loop(name string, a *arranged, floats bool) {
	dst, x, n, common := g.beginInt8(name)
	var qs, scales []reg.VecVirtual
	for first := 0; first < a.elems(); first += 32 {
		q, scale := g.block8(x, 4*first)
		qs, scales = append(qs, q), append(scales, scale)
	}
	scale := scales[0]
	if len(qs) == 2 {
		low, high := g.YMM(), g.YMM()
		g.VINSERTI128(operand.U8(1), qs[1].AsX(), qs[0], low)
		g.VPERM2I128(operand.U8(0x31), qs[1], qs[0], high)
		qs = []reg.VecVirtual{low, high}
		g.VBLENDPS(operand.U8(0xf0), scales[1], scale, scale)
	}
	ones := g.load2(g.dwords("ones8", repeat(8, uint32(0x01010101))...))
	var sum reg.VecVirtual
	for i, q := range qs {
		g.VMOVDQU(q, at(dst, a.bytesAt(i)))
		t := g.YMM()
		g.VPMADDUBSW(q, ones, t)
		if sum != nil {
			g.VPADDW(sum, t, t)
		}
		sum = t
	}
	g.VMOVUPS(scale, at(dst, a.scaleAt(0)))
	g.storeSums(sum, common, scale, floats, at(dst, a.sumAt(0)))
	g.nextGroup(a, dst, x, n)
	g.end()
}

// beginInt8 starts an arrangeFunc for bytes and its loop over groups.
func (g *gen) beginInt8(name string) (dst, x, n reg.Register, common reg.VecVirtual) {
	g.begin(name, "func(dst, x *float32, n int, common, _ float32)",
		name+" arranges n floats, a positive multiple of what its arranger is for, as bytes.")
	dst, x, n = g.param("dst"), g.param("x"), g.param("n")
	f := g.XMM()
	common = g.YMM()
	g.Load(g.Param("common"), f)
	g.VBROADCASTSS(f, common)
	g.Label("group")
	return dst, x, n, common
}

// storeSums adds pairs of the 16-bit sums, multiplies them by common, and stores them at m: as
// 32-bit integers, or (floats) as floats times the scale.
func (g *gen) storeSums(sum, common, scale reg.VecVirtual, floats bool, m operand.Mem) {
	g.VPMADDWD(g.ones16(), sum, sum)
	g.VCVTDQ2PS(sum, sum)
	g.VMULPS(common, sum, sum)
	if floats {
		g.VMULPS(scale, sum, sum)
	} else {
		g.VCVTPS2DQ(sum, sum)
	}
	g.VMOVUPS(sum, m)
}

// nextGroup ends the loop over groups: it advances the pointers, and repeats the loop while elements are left.
func (g *gen) nextGroup(a *arranged, dst, x, n reg.Register) {
	g.ADDQ(operand.U32(4*a.elems()), x)
	g.ADDQ(operand.U32(a.bytes()), dst)
	g.SUBQ(operand.U8(a.elems()), n)
	g.JNZ(operand.LabelRef("group"))
}

// block8 returns 32 floats, from a byte offset of x on, as bytes in order, and their scale in all lanes.
func (g *gen) block8(x reg.Register, offset int) (q, scale reg.VecVirtual) {
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = g.load2(at(x, offset+32*i))
	}
	most, all := g.YMM(), g.YMM()
	for i := range v {
		t := g.YMM()
		g.VANDPS(g.magnitude(), v[i], t)
		if i == 0 {
			g.VMOVAPS(t, most)
			g.VMOVAPS(v[i], all)
		} else {
			g.VMAXPS(t, most, most)
			g.VADDPS(v[i], all, all)
		}
	}
	scale, inverse := g.scaleOf(most, all)
	return g.rounded(v, inverse), scale
}

// magnitude returns the mask of all bits of a float but the sign.
func (g *gen) magnitude() operand.Mem { return g.dwords("magnitude", repeat(8, uint32(0x7fffffff))...) }

// scaleOf returns the scale of a block and its inverse, in all lanes. The lanes of most have the
// largest magnitudes. The lanes of all have sums of the block's elements: at least one is infinite
// or NaN if an element is. The inverse is 0 for a block of zeros.
func (g *gen) scaleOf(most, all reg.VecVirtual) (scale, inverse reg.VecVirtual) {
	t := g.YMM()
	g.VPERM2F128(operand.U8(1), most, most, t)
	g.VMAXPS(t, most, most)
	for _, order := range []uint8{0x4e, 0xb1} {
		g.VPERMILPS(operand.U8(order), most, t)
		g.VMAXPS(t, most, most)
	}
	largest := g.load2(g.floats("largest8", repeat(8, float32(127))...))
	zero := g.YMM()
	scale, inverse = g.YMM(), g.YMM()
	g.VXORPS(zero, zero, zero)
	g.VDIVPS(largest, most, scale)
	g.VMULPS(zero, all, all) // 0, or NaN if a sum is not finite
	g.VADDPS(all, scale, scale)
	g.VDIVPS(most, largest, inverse)
	g.VCMPPS(operand.U8(4), zero, most, t) // not equal
	g.VANDPS(t, inverse, inverse)
	return scale, inverse
}

// rounded multiplies 32 floats by the inverse of their scale, and returns the nearest integers
// as bytes in order.
func (g *gen) rounded(v [4]reg.VecVirtual, inverse reg.VecVirtual) reg.VecVirtual {
	for i := range v {
		g.VMULPS(inverse, v[i], v[i])
		g.VCVTPS2DQ(v[i], v[i])
	}
	g.VPACKSSDW(v[1], v[0], v[0])
	g.VPACKSSDW(v[3], v[2], v[2])
	g.VPACKSSWB(v[2], v[0], v[0])
	q := g.YMM()
	g.VPERMD(v[0], g.load2(g.dwords("inOrder", 0, 4, 1, 5, 2, 6, 3, 7)), q)
	return q
}
