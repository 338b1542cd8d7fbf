package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// grid is a format with a code book. The books are tables of package linalg. A sub-block is 32 elements.
type grid struct {
	quant.Type
	unit   float32 // the scales of sub-blocks, odd numbers, are multiples of it, with d
	four   bool    // entries have four values; else eight
	direct bool    // numbers of entries are bytes, from byte 2 of the block on, eight bytes for a sub-block
	halfs  bool    // a scale is that of 16 elements, not of 32
	// signs are where the block has a sign for every element; 0: unpack leaves them on the stack.
	signs  int
	unpack func(b *gridBlock)
}

var grids = []grid{
	{Type: quant.IQ2_XXS, unit: 1.0 / 8, direct: true, unpack: (*gridBlock).iq2_XXS},
	{Type: quant.IQ2_XS, unit: 1.0 / 8, halfs: true, unpack: (*gridBlock).iq2_XS},
	{Type: quant.IQ2_S, unit: 1.0 / 8, halfs: true, signs: 34, unpack: (*gridBlock).iq2_S},
	{Type: quant.IQ3_XXS, unit: 1.0 / 4, four: true, direct: true, unpack: (*gridBlock).iq3_XXS},
	{Type: quant.IQ3_S, unit: 1, four: true, signs: 74, unpack: (*gridBlock).iq3_S},
	{Type: quant.IQ1_S, unit: 1, unpack: (*gridBlock).iq1_S},
	{Type: quant.IQ1_M, unit: 1, halfs: true, unpack: (*gridBlock).iq1_M},
}

// bytes is what the generator makes loops for bytes of, and floats what it makes those for floats of.
func (f grid) bytes(begin func(*gen, shape) func(*loop)) format {
	of := f.floats()
	of.begin, of.few, of.folded, of.alone, of.int8 = begin, false, true, true, super8
	return of
}

func (f grid) floats() format {
	of, _ := quant.Lookup(f.Type)
	list := format{name: formatName(f.Type), elems: of.BlockElems, bytes: of.BlockBytes, begin: f.begin, few: true, pairs: true, book: true}
	if f.shifted() {
		list.shared = 4 // without signs there are registers for it
	}
	return list
}

// shifted says that values are -1, 0 and 1, eight elements of which have a shift in common. Entries are bytes of eight
// times the values, plus 17; where the shift is downward 2 is taken off, and sums of inputs take 16 off all of them.
func (f grid) shifted() bool { return f.Type == quant.IQ1_S || f.Type == quant.IQ1_M }

func (f grid) begin8(g *gen, t shape) func(*loop) {
	order := g.constant2(t, g.byteOfEight())
	bits, ones := g.constant2(t, g.bytes("bitMask", bitOfByte()...)), g.constant2(t, g.dwords("ones8", repeat(8, uint32(0x01010101))...))
	return f.blocks(gridBlock{gen: g, grid: f, isa: avx2, book: g.byteBook(f.Type)}, t, func(l *loop, rows []*gridBlock) {
		b := rows[0]
		if f.halfs {
			b.words = g.load2(b.stack.Offset(gridWords))
		}
		l.partials(func(p *partial) {
			for b.sub = range 8 {
				codes, signs := b.entries(), g.broadcast2(b.signsAt())
				g.VPSHUFB(order, signs, signs)
				if f.shifted() {
					g.VPADDB(signs, codes, codes)
					signs = nil
				} else {
					g.VPAND(bits, signs, signs)
					g.VPCMPEQB(bits, signs, signs)
					g.VPOR(ones, signs, signs) // 1, or -1 where the bit is set
				}
				b.add(p, codes, signs)
			}
			if f.shifted() {
				p.centre(4, func(int) operand.Mem { return b.stack })
			}
			p.foldBlock(func(int) operand.Mem { return b.stack.Offset(gridFactor) }, noMinima)
		})
	})
}

// byteOfEight is the order that brings each of four bytes, which all dwords have, to eight bytes.
func (g *gen) byteOfEight() operand.Mem {
	var of []byte
	for i := range 32 {
		of = append(of, byte(i/8))
	}
	return g.bytes("byteOfEight", of...)
}

// add adds a sub-block: codes, which are unsigned, times the bytes of inputs, negated where signs are, times the scale.
func (b *gridBlock) add(p *partial, codes, signs reg.VecVirtual) {
	var scale reg.VecVirtual
	if b.halfs {
		scale = b.YMM()
		b.VPSHUFB(b.wordOfEach(b.sub), b.words, scale)
	} else {
		scale = b.broadcast2(b.stack.Offset(gridScales + 4*b.sub))
	}
	for j, input := range p.inputs {
		t := b.load2(at(input, p.arranged.bytesAt(b.sub)))
		if signs != nil {
			b.VPSIGNB(signs, t, t)
		}
		b.VPMADDUBSW(t, codes, t)
		b.VPMADDWD(scale, t, t)
		if len(p.sums[0]) == j {
			p.sums[0] = append(p.sums[0], t)
		} else {
			b.VPADDD(t, p.sums[0][j], p.sums[0][j])
		}
	}
}

// signsAt is where the four bytes of signs or shifts of a sub-block are.
func (b *gridBlock) signsAt() operand.Mem {
	if b.signs > 0 {
		return at(b.block, b.signs+4*b.sub)
	}
	return b.stack.Offset(gridSigns + 4*b.sub)
}

// number returns the number of entry i of a sub-block.
func (b *gridBlock) number(i int) reg.GPVirtual {
	n := b.GP64()
	switch {
	case b.direct:
		b.MOVBQZX(at(b.block, 2+8*b.sub+i), n)
	case b.four:
		b.MOVWQZX(b.stack.Offset(gridNumbers+16*b.sub+2*i), n)
	default:
		b.MOVWQZX(b.stack.Offset(gridNumbers+8*b.sub+2*i), n)
	}
	return n
}

// entries returns the bytes of the entries of a sub-block. An entry is loaded from so far in front of it that it lies
// where it has to be, and blended: that is one instruction for each.
func (b *gridBlock) entries() reg.VecVirtual {
	size := 8
	if b.four {
		size = 4
	}
	var halves [2]reg.VecVirtual
	for h := range halves {
		halves[h] = b.XMM()
		for k := range 16 / size {
			n := b.number(h*16/size + k)
			from := operand.Mem{Base: b.book, Index: n, Scale: uint8(size), Disp: -size * k}
			switch {
			case k > 0:
				b.VPBLENDD(operand.U8((1<<(size/4)-1)<<(k*size/4)), from, halves[h], halves[h])
			case b.four:
				b.VMOVD(from, halves[h])
			default:
				b.VMOVQ(from, halves[h])
			}
		}
	}
	q := b.YMM()
	if b.isa.lanes == avx2.lanes {
		b.VINSERTI128(operand.U8(1), halves[1], halves[0].AsY(), q)
	} else {
		b.VINSERTI64X2(operand.U8(1), halves[1], halves[0].AsY(), q)
	}
	return q
}

// bitOfByte are the bits of eight elements, one after the other.
func bitOfByte() (b []byte) {
	for i := range 32 {
		b = append(b, 1<<(i%8))
	}
	return b
}
