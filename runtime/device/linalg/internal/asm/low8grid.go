package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// grid is a format with a code book: a weight is d·unit·(2s+1)·v, with an integer s for each
// sub-block and a value v from the code book. The books are variables of package linalg. A
// sub-block has 32 elements.
type grid struct {
	quant.Type
	unit   float32 // factor of all scales 2s+1, besides d
	four   bool    // an entry of the book has four values, else eight
	direct bool    // entry numbers are bytes: eight per sub-block, from byte 2 of the block on
	halfs  bool    // 16 elements share a scale, else 32
	// signs is the byte offset of a sign bit per element. 0: unpack writes the signs to the stack.
	signs  int
	unpack func(b *gridBlock)
}

// grids are the formats with a code book.
var grids = []grid{
	{Type: quant.IQ2_XXS, unit: 1.0 / 8, direct: true, unpack: (*gridBlock).iq2_XXS},
	{Type: quant.IQ2_XS, unit: 1.0 / 8, halfs: true, unpack: (*gridBlock).iq2_XS},
	{Type: quant.IQ2_S, unit: 1.0 / 8, halfs: true, signs: 34, unpack: (*gridBlock).iq2_S},
	{Type: quant.IQ3_XXS, unit: 1.0 / 4, four: true, direct: true, unpack: (*gridBlock).iq3_XXS},
	{Type: quant.IQ3_S, unit: 1, four: true, signs: 74, unpack: (*gridBlock).iq3_S},
	{Type: quant.IQ1_S, unit: 1, unpack: (*gridBlock).iq1_S},
	{Type: quant.IQ1_M, unit: 1, halfs: true, unpack: (*gridBlock).iq1_M},
}

// bytes returns the format of the loops over bytes; begin is their begin.
func (f grid) bytes(begin func(*gen, shape) func(*loop)) format {
	of := f.floats()
	of.begin, of.few, of.folded, of.alone, of.int8 = begin, false, true, true, super8
	return of
}

// floats returns the format of the loops over floats.
func (f grid) floats() format {
	of, _ := quant.Lookup(f.Type)
	list := format{name: formatName(f.Type), elems: of.BlockElems, bytes: of.BlockBytes, begin: f.begin, few: true, pairs: true, book: true}
	if f.shifted() {
		list.shared = 4 // no registers are needed for signs
	}
	return list
}

// shifted says that the format is IQ1_S or IQ1_M. Their book has values v of -1, 0 and 1, and eight
// elements share a shift of +1/8 or -1/8. As bytes the book has 8·v + 17, which is positive. For a
// shift of -1/8 the loops subtract 2, and centre subtracts 16 from every code with the sums of the inputs:
// this leaves 8·(v ± 1/8).
func (f grid) shifted() bool { return f.Type == quant.IQ1_S || f.Type == quant.IQ1_M }

// begin8 is format.begin of the loops over bytes. Loops take one row (format.alone).
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

// byteOfEight returns the VPSHUFB order for a register whose dwords are all the same. It copies
// byte b of the dword to bytes 8b to 8b+7 of the register.
func (g *gen) byteOfEight() operand.Mem {
	var of []byte
	for i := range 32 {
		of = append(of, byte(i/8))
	}
	return g.bytes("byteOfEight", of...)
}

// add multiplies the unsigned codes of a sub-block by inputs and by the scale, and adds the
// products to the partial sums. Where signs is -1 the input is negated; signs may be nil.
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

// signsAt returns the memory of the four bytes of signs, or of shifts, of the current sub-block.
func (b *gridBlock) signsAt() operand.Mem {
	if b.signs > 0 {
		return at(b.block, b.signs+4*b.sub)
	}
	return b.stack.Offset(gridSigns + 4*b.sub)
}

// number loads the number of entry i of the current sub-block.
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

// entries returns the 32 codes of a sub-block: 4 entries of eight bytes or 8 of four. Entry k of a half
// register belongs at byte size·k. The load begins size·k bytes before the entry, so that the
// entry arrives at this place, and VPBLENDD keeps only the entry. This takes one instruction per entry.
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

// bitOfByte returns 32 bytes; byte i has the bit i%8 set.
func bitOfByte() (b []byte) {
	for i := range 32 {
		b = append(b, 1<<(i%8))
	}
	return b
}
