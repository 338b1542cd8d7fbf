package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// K-quants times bytes, for AVX2. The scales within a block are integers. The inputs have one scale
// per block of 256 elements, too, so a whole block is summed as integers.

// addScaled adds products, times the row's scale of 16 bits, to partial sums of 32 bits. scales[r] has the
// scales of row r of p as words.
func (p *partial) addScaled(i int, q, scales []reg.VecVirtual) {
	p.products(i, q, func(r, j int, t reg.VecVirtual) {
		p.VPMADDWD(scales[r], t, t)
		if len(p.sums[r]) == j {
			p.sums[r] = append(p.sums[r], t)
		} else {
			p.VPADDD(t, p.sums[r][j], p.sums[r][j])
		}
	})
}

// minima are the minima of a row's block. They subtract m·Σ min·(sum of x) from the sum of a
// block: m is the memory of dmin (float32), mins that of 16 words, one for each sum of 16 inputs.
type minima struct{ m, mins operand.Mem }

// foldBlock adds the sums of a block to the running sums: d (float32 in memory) times the
// scale of x times the sum. less returns the minima of a row, or nil.
func (p *partial) foldBlock(d func(r int) operand.Mem, less func(r int) *minima) {
	for k, row := range p.rows {
		r := p.first() + k
		factor := p.broadcast2(d(r))
		for j, sum := range p.sums[k] {
			p.VCVTDQ2PS(sum, sum)
			p.VMULPS(factor, sum, sum)
			if m := less(r); m != nil {
				t := p.load2(at(p.inputs[j], p.arranged.sumAt(0)))
				p.VPMADDWD(m.mins, t, t)
				p.VCVTDQ2PS(t, t)
				p.VFNMADD231PS(p.broadcast2(m.m), t, sum)
			}
			x := at(p.inputs[j], p.arranged.scaleAt(0))
			if row.kept == nil {
				p.VFMADD231PS(x, sum, row.sums[j][0])
				continue
			}
			kept := p.load2(row.kept[j])
			p.VFMADD231PS(x, sum, kept)
			p.VMOVUPS(kept, row.kept[j])
		}
	}
}

// twice copies the lower word of each dword to its upper word.
func (g *gen) twice(v reg.Register) {
	var from []byte // byte order within 128 bits
	for i := range 32 {
		from = append(from, byte(i%16/4*4+i%2))
	}
	g.VPSHUFB(g.bytes("twice", from...), v, v)
}

// affine8 is begin of Q4_K or, with fifth bits, Q5_K. The stack has per row:
//
//	bytes 0–31   8 scales, each twice as a word
//	bytes 32–63  8 minima, each twice as a word
//	bytes 64–71  d and dmin, float32
func affine8(fifth bool) func(*gen, shape) func(*loop) {
	qs := 16
	if fifth {
		qs = 48
	}
	return func(g *gen, t shape) func(*loop) {
		low := g.constant2(t, g.bytes("mask15", repeat(64, byte(15))...))
		stack := g.AllocLocal(96 * t.rows)
		return func(l *loop) {
			for r, row := range l.rows {
				head, packed := g.unpackScales(avx2, row.block)
				for i := range 2 {
					values := g.YMM()
					g.VPMOVZXBD(packed, values)
					g.twice(values)
					g.VMOVUPS(values, stack.Offset(96*r+32*i))
					g.VPSRLDQ(operand.U8(8), packed, packed)
				}
				g.VCVTPH2PS(head, head)
				g.VMOVUPS(head, stack.Offset(96*r+64))
			}
			l.partials(func(p *partial) {
				for sub := range 8 {
					q := p.each(func(_ int, row row) reg.VecVirtual {
						q := g.YMM()
						g.VMOVDQU(at(row.block, qs+32*(sub/2)), q)
						if sub%2 == 1 {
							g.VPSRLW(operand.U8(4), q, q)
						}
						g.VPAND(low, q, q)
						if fifth {
							g.VPOR(g.fifthBitsOf(sub, at(row.block, 16)), q, q)
						}
						return q
					})
					p.addScaled(sub, q, p.each(func(r int, _ row) reg.VecVirtual {
						return g.broadcast2(stack.Offset(96*r + 4*sub))
					}))
				}
				p.foldBlock(
					func(r int) operand.Mem { return stack.Offset(96*r + 64) },
					func(r int) *minima { return &minima{stack.Offset(96*r + 68), stack.Offset(96*r + 32)} })
			})
		}
	}
}

// q6_K8 is the loop of Q6_K, whose codes count from 32; see bytesQ6_K for the layout.
func q6_K8(g *gen, t shape) func(*loop) {
	low, upper := g.bytes("mask15", repeat(64, byte(15))...), g.bytes("mask48", repeat(32, byte(48))...)
	return g.signedWords8(t, func(row row) (words reg.VecVirtual, d operand.Mem) {
		words = g.YMM()
		g.VPMOVSXBW(row.at(192), words)
		return words, row.at(208)
	}, 5, ascending, func(row row, group int) reg.VecVirtual { return g.bytesQ6_K(row.block, group, low, upper) })
}

// iq4_XS8 is the loop of IQ4_XS. The stack has per row:
//
//	bytes 0–31   8 scales, each twice as a word
//	bytes 32–35  d, float32
func iq4_XS8(g *gen, t shape) func(*loop) {
	low := g.bytes("mask15", repeat(64, byte(15))...)
	table := g.byteTable(t, &levels)
	const size = 64
	return func(l *loop) {
		stack := g.AllocLocal(size * len(l.rows))
		for r, row := range l.rows {
			scales := g.wordsIQ4_XS(avx2, row.block)
			g.twice(scales)
			g.VMOVUPS(scales, stack.Offset(size*r))
			d := g.half2(at(row.block, 0))
			g.VMOVSS(d.AsX(), stack.Offset(size*r+32))
		}
		l.partials(func(p *partial) {
			for sub := range 8 {
				q := p.each(func(_ int, row row) reg.VecVirtual {
					q := g.nibbles(at(row.block, 8+16*sub))
					g.VPAND(low, q, q)
					g.lookup2(table, q)
					return q
				})
				p.addScaled(sub, q, p.each(func(r int, _ row) reg.VecVirtual {
					return g.broadcast2(stack.Offset(size*r + 4*sub))
				}))
			}
			p.foldBlock(func(r int) operand.Mem { return stack.Offset(size*r + 32) }, noMinima)
		})
	}
}

// superLoop emits the function that arranges x as bytes in the layout super8. A block of 256 has one
// scale, max|x|/127. 16 sums of 16 elements each follow the scale, as words.
func (g *gen) superLoop(name string, a *arranged) {
	g.begin(name, "func(dst, x *float32, n int, _, _ float32)",
		fmt.Sprintf("%s arranges n floats, a positive multiple of %d, as bytes.", name, a.elems()))
	dst, x, n := g.param("dst"), g.param("x"), g.param("n")
	g.Label("block")
	most, all := g.YMM(), g.YMM()
	g.VXORPS(most, most, most)
	g.VXORPS(all, all, all)
	g.eachOf(x, a.elems()/8, func(v reg.VecVirtual) {
		g.VADDPS(v, all, all)
		g.VANDPS(g.magnitude(), v, v)
		g.VMAXPS(v, most, most)
	})
	scale, inverse := g.scaleOf(most, all)
	to, from, left := g.copyOf(dst), g.copyOf(x), g.GP64()
	g.MOVQ(operand.U32(a.elems()/32), left)
	sums := g.GP64()
	g.LEAQ(at(dst, a.sumAt(0)), sums)
	ones := g.load2(g.dwords("ones8", repeat(8, uint32(0x01010101))...))
	g.Label("bytes")
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = g.load2(at(from, 32*i))
	}
	q := g.rounded(v, inverse)
	g.VMOVDQU(q, at(to, 0))
	t, high := g.YMM(), g.XMM()
	g.VPMADDUBSW(q, ones, t)
	g.VPMADDWD(g.ones16(), t, t) // each half: four sums of four elements
	g.VEXTRACTI128(operand.U8(1), t, high)
	g.VPHADDD(high, t.AsX(), t.AsX())
	g.VPHADDD(t.AsX(), t.AsX(), t.AsX())
	g.VPACKSSDW(t.AsX(), t.AsX(), t.AsX())
	g.VMOVD(t.AsX(), at(sums, 0))
	g.ADDQ(operand.U32(128), from)
	g.ADDQ(operand.U32(32), to)
	g.ADDQ(operand.U32(4), sums)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("bytes"))
	g.VMOVUPS(scale, at(dst, a.scaleAt(0)))
	g.ADDQ(operand.U32(4*a.elems()), x)
	g.ADDQ(operand.U32(a.bytes()), dst)
	g.SUBQ(operand.U32(a.elems()), n)
	g.JNZ(operand.LabelRef("block"))
	g.end()
}

// eachOf emits a loop over n vectors of eight floats, from x on.
func (g *gen) eachOf(x reg.Register, n int, f func(v reg.VecVirtual)) {
	p, left := g.copyOf(x), g.GP64()
	g.MOVQ(operand.U32(n), left)
	g.Label("vectors")
	v := g.load2(at(p, 0))
	f(v)
	g.ADDQ(operand.U32(32), p)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("vectors"))
}
