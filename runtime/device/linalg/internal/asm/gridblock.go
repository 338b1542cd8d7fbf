package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Unpacking of formats with a code book. For a whole block, vector instructions compute the numbers of
// the entries, the signs and the scales, and store them on the stack. After that an entry takes two
// loads: one of its number, one of the entry itself.

// Byte offsets of a block's fields on the stack:
//
//	offset            loops over bytes                             loops over floats
//	gridScales   0    16 scales, words; one of 32 elements twice   8 or 16 scales, floats
//	gridFactor  32    d·unit, float32                              (in a register)
//	gridSigns   64    32 bytes of signs or shifts                  32 bytes of signs, or 32 shifts, floats
//	gridWords   96    the scales in the order of evenOdd           (unused)
//	gridNumbers 192   numbers of entries, words                    byte offsets of entries, words
//
// gridStack is the size of all of them.
const (
	gridScales, gridFactor, gridSigns, gridWords, gridNumbers = 0, 32, 64, 96, 192
	gridStack                                                 = 320
)

// eightFloats and fourFloats are log2 of the bytes of an entry of that many floats.
const eightFloats, fourFloats = 5, 4

// gridBlock is one block of a row, with the places of its fields.
type gridBlock struct {
	*gen
	grid
	isa         isa
	floats      bool // the loops over floats, else those over bytes
	block, book reg.Register
	stack       operand.Mem
	sub         int            // number of the current sub-block
	d, words    reg.VecVirtual // d: d·unit; words: the scales in the order of evenOdd
}

// blocks returns the function that emits one step: a block of each row. The stack has two buffers per
// row. While multiply reads the current block's fields from one buffer, unpack stores those of
// the next block in the other. So no load waits for a store just before it. In the last
// step there is no next block: unpack takes the current block again, to read nothing past the row.
func (f grid) blocks(b gridBlock, t shape, multiply func(l *loop, rows []*gridBlock)) func(*loop) {
	g, stack := b.gen, b.local(2*gridStack*t.rows)
	now, next := g.base(stack), g.base(stack.Offset(gridStack*t.rows))
	of := func(r int, block, at reg.Register) *gridBlock {
		row := b
		row.block, row.stack = block, operand.Mem{Base: at, Disp: gridStack * r}
		return &row
	}
	for r, block := range t.blocks {
		f.unpack(of(r, block, now))
	}
	return func(l *loop) {
		var rows []*gridBlock
		for r, row := range l.rows {
			block := g.GP64()
			g.LEAQ(row.at(l.format.bytes), block)
			g.CMPQ(l.left, operand.U8(1))
			g.CMOVQEQ(row.block, block)
			f.unpack(of(r, block, next))
			rows = append(rows, of(r, row.block, now))
		}
		multiply(l, rows)
		g.XCHGQ(now, next)
	}
}

// keepFactor keeps d·unit of a block: in the register b.d, and for bytes also on the stack.
func (b *gridBlock) keepFactor(d reg.VecVirtual) {
	unit := b.unit
	if b.shifted() && !b.floats {
		unit /= 8 // codes are 8·(v ± 1/8); see shifted
	}
	b.d = d
	b.VMULPS(b.gen.floats(fmt.Sprintf("gridUnit%d", int(8*unit)), repeat(8, unit)...), d, d)
	if !b.floats {
		b.VMOVSS(d.AsX(), b.stack.Offset(gridFactor))
	}
}

// keepDwordScales stores the scales 2s+1. s has eight dwords, one per sub-block of 32 elements.
func (b *gridBlock) keepDwordScales(s reg.VecVirtual) {
	b.VPADDD(s, s, s)
	b.isa.or(b.gen, b.dwords("dwords1", repeat(8, uint32(1))...), s, s)
	if b.floats {
		b.keepFloats(0, s)
		return
	}
	b.twice(s)
	b.VMOVUPS(s, b.stack.Offset(gridScales))
}

// keepWordScales stores the scales 2s+1. s has 16 words, one per 16 elements.
func (b *gridBlock) keepWordScales(s reg.VecVirtual) {
	b.VPADDW(s, s, s)
	b.isa.or(b.gen, b.ones16(), s, s)
	if !b.floats {
		b.VMOVUPS(s, b.stack.Offset(gridScales))
		if b.isa.lanes == avx2.lanes {
			b.evenOdd(s)
			b.VMOVUPS(s, b.stack.Offset(gridWords))
		}
		return
	}
	for i, part := range b.halvesOf(s) {
		v := b.YMM()
		b.VPMOVZXWD(part, v)
		b.keepFloats(i, v)
	}
}

// keepFloats stores the eight integers of v, times d·unit, as floats 8i to 8i+7 of the scales.
func (b *gridBlock) keepFloats(i int, v reg.VecVirtual) {
	b.VCVTDQ2PS(v, v)
	b.VMULPS(b.d, v, v)
	b.VMOVUPS(v, b.stack.Offset(gridScales+32*i))
}

// halvesOf returns the two 128-bit halves of a register.
func (b *gridBlock) halvesOf(v reg.VecVirtual) [2]reg.Register {
	high := b.XMM()
	b.VEXTRACTI128(operand.U8(1), v, high)
	return [2]reg.Register{v.AsX(), high}
}

// keepNibbleScales stores the scales 2s+1 of 16 nibbles s, the low nibble of a byte first. They
// begin at a byte offset in the block.
func (b *gridBlock) keepNibbleScales(offset int) {
	s, high := b.YMM(), b.YMM()
	b.VPMOVZXBD(at(b.block, offset), s)
	b.VPSLLD(operand.U8(12), s, high)
	b.isa.or(b.gen, high, s, s)
	b.isa.and(b.gen, b.dwords("words15", repeat(8, uint32(0x000f000f))...), s, s)
	b.keepWordScales(s)
}

// keepSigns stores 32 bytes of eight signs. v has the first seven in bits 0–6. The eighth is
// their parity: the number of set bits of a byte becomes even (ggml's ksigns_iq2xs).
func (b *gridBlock) keepSigns(v reg.VecVirtual) {
	var odd []byte
	for i := range 32 {
		odd = append(odd, byte(bits.OnesCount(uint(i%16))%2<<7))
	}
	table, low := b.load2(b.gen.bytes("oddNibble", odd...)), b.gen.bytes("mask15", repeat(64, byte(15))...)
	t, high := b.YMM(), b.YMM()
	b.isa.and(b.gen, low, v, t)
	b.VPSRLW(operand.U8(4), v, high)
	b.isa.and(b.gen, low, high, high)
	b.VPSHUFB(t, table, t)
	b.VPSHUFB(high, table, high)
	b.VPADDB(high, t, t) // the sum of two bits 7 is their exclusive or
	b.isa.or(b.gen, t, v, v)
	b.VMOVUPS(v, b.stack.Offset(gridSigns))
}

// keepSevens stores the signs and scales of eight dwords. A dword has four times seven signs in bits
// 0–27, and s in bits 28–31.
func (b *gridBlock) keepSevens(v reg.VecVirtual) {
	signs := b.YMM()
	for i := range 4 {
		mask := b.dwords([]string{"seven0", "seven1", "seven2", "seven3"}[i], repeat(8, uint32(0x7f)<<(8*i))...)
		if i == 0 {
			b.isa.and(b.gen, mask, v, signs)
			continue
		}
		t := b.YMM()
		b.VPSLLD(operand.U8(i), v, t)
		b.isa.and(b.gen, mask, t, t)
		b.isa.or(b.gen, t, signs, signs)
	}
	b.keepSigns(signs)
	b.VPSRLD(operand.U8(28), v, v)
	b.keepDwordScales(v)
}

// upper describes where the upper bits of entry numbers are. For 16 entries at a time keepNumbers
//
//  1. loads a source into a register,
//  2. copies bytes of it to the 16 words (VPSHUFB),
//  3. shifts each word left by its own count (VPMULLW), which aligns the bits of all words,
//  4. shifts all words right, and masks the bits.
type upper struct {
	name   string                                // prefix of the constants' names
	source func(m operand.Mem, v reg.VecVirtual) // loads the source of 16 entries at m, repeated over v
	step   int                                   // bytes of a source
	from   func(word, byte int) byte             // index of the source byte for a byte (0, 1) of a word; 0x80: zero
	times  func(word int) int                    // shift count of step 3
	right  uint8                                 // shift count of step 4
	mask   uint16                                // mask of step 4
}

// keepNumbers stores n entry numbers. Their lower eight bits are bytes from offset on in the block; the
// upper bits begin at byte high, as u says. more gets the words of the i-th 16 entries before they are masked.
func (b *gridBlock) keepNumbers(n, offset, high int, u upper, more func(i int, v reg.VecVirtual)) {
	var order []byte
	var times []uint32
	for word := range 16 {
		order = append(order, u.from(word, 0), u.from(word, 1))
		if word%2 == 0 {
			times = append(times, 1<<u.times(word)|1<<u.times(word+1)<<16)
		}
	}
	for i := range n / 16 {
		v, numbers := b.YMM(), b.YMM()
		u.source(at(b.block, high+u.step*i), v)
		b.VPSHUFB(b.gen.bytes(u.name+"Order", order...), v, v)
		b.VPMULLW(b.dwords(u.name+"Times", times...), v, v)
		if u.right > 0 {
			b.VPSRLW(operand.U8(u.right), v, v)
		}
		more(i, v)
		b.isa.and(b.gen, b.dwords(u.name+"Mask", repeat(8, uint32(u.mask)*0x10001)...), v, v)
		b.VPMOVZXBW(at(b.block, offset+16*i), numbers)
		b.isa.or(b.gen, v, numbers, numbers)
		b.keepEntries(numbers, i)
	}
}

// keepEntries stores 16 entry numbers, words: the i-th 16 of the block. For floats it turns them into byte offsets.
func (b *gridBlock) keepEntries(v reg.VecVirtual, i int) {
	if b.floats {
		b.VPSLLW(operand.U8(b.entryShift()), v, v)
	}
	b.VMOVUPS(v, b.stack.Offset(gridNumbers+32*i))
}

// keepByteEntries is keepEntries for 16 numbers that are bytes.
func (b *gridBlock) keepByteEntries(from operand.Op, i int) {
	v := b.YMM()
	b.VPMOVZXBW(from, v)
	b.keepEntries(v, i)
}

// noMore is the argument more of formats that need nothing else from the upper bits.
func noMore(int, reg.VecVirtual) {}

// iq2_XXS unpacks ggml's block_iq2_xxs: d, then for each sub-block a dword of four entry numbers
// (bytes) and a dword for keepSevens.
func (b *gridBlock) iq2_XXS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	v, w, numbers := b.load2(at(b.block, 2)), b.load2(at(b.block, 34)), b.YMM()
	if b.floats {
		b.VSHUFPS(operand.U8(0x88), w, v, numbers) // the lower dwords of quadwords
		b.VPERMQ(operand.U8(0xd8), numbers, numbers)
		for i, part := range b.halvesOf(numbers) {
			b.keepByteEntries(part, i)
		}
	}
	b.VSHUFPS(operand.U8(0xdd), w, v, v) // the upper dwords of quadwords
	b.VPERMQ(operand.U8(0xd8), v, v)
	b.keepSevens(v)
}

// iq3_XXS unpacks ggml's block_iq3_xxs: d, 64 entry numbers (bytes), then a dword for keepSevens for each sub-block.
func (b *gridBlock) iq3_XXS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepSevens(b.load2(at(b.block, 66)))
	for i := 0; i < 4 && b.floats; i++ {
		b.keepByteEntries(at(b.block, 2+16*i), i)
	}
}

// iq2_XS unpacks ggml's block_iq2_xs: d, 32 words with an entry number in bits 0–8 and seven signs in bits
// 9–15, then nibbles of scales.
func (b *gridBlock) iq2_XS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepNibbleScales(66)
	var signs [2]reg.VecVirtual
	for i := range signs {
		signs[i] = b.load2(at(b.block, 2+32*i))
		t := b.YMM()
		b.isa.and(b.gen, b.dwords("words511", repeat(8, uint32(0x01ff01ff))...), signs[i], t)
		b.keepEntries(t, i)
		b.VPSRLW(operand.U8(9), signs[i], signs[i])
	}
	b.VPACKUSWB(signs[1], signs[0], signs[0])
	b.VPERMQ(operand.U8(0xd8), signs[0], signs[0])
	b.keepSigns(signs[0])
}

// iq2_S unpacks ggml's block_iq2_s: d, 32 lower bytes of entry numbers, 32 bytes of signs, 8 bytes with two
// upper bits for each of four entries, then nibbles of scales.
func (b *gridBlock) iq2_S() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepNibbleScales(74)
	b.keepNumbers(32, 2, 66, upper{
		name: "twoBits", step: 4, mask: 0x300,
		source: func(m operand.Mem, v reg.VecVirtual) { b.VPBROADCASTD(m, v) },
		from:   func(word, byte int) byte { return []uint8{uint8(word / 4), 0x80}[byte] },
		times:  func(word int) int { return 8 - 2*(word%4) },
	}, noMore)
}

// iq3_S unpacks ggml's block_iq3_s: d, 64 lower bytes of entry numbers, 8 bytes with the upper bit of each of
// eight entries, 32 bytes of signs, then four bytes with eight nibbles of scales.
func (b *gridBlock) iq3_S() {
	b.keepFactor(b.half2(at(b.block, 0)))
	s := b.YMM()
	b.VPBROADCASTD(at(b.block, 106), s)
	b.VPSRLVD(b.dwords("shifts4", 0, 4, 8, 12, 16, 20, 24, 28), s, s)
	b.isa.and(b.gen, b.dwords("dwords15", repeat(8, uint32(15))...), s, s)
	b.keepDwordScales(s)
	b.keepNumbers(64, 2, 66, upper{
		name: "oneBit", step: 2, mask: 0x100,
		source: func(m operand.Mem, v reg.VecVirtual) { b.VPBROADCASTW(m, v) },
		from:   func(word, byte int) byte { return []uint8{uint8(word / 8), 0x80}[byte] },
		times:  func(word int) int { return 8 - word%8 },
	}, noMore)
}

// wordOfFour is upper.from for a source of words, each of which serves four entries.
func wordOfFour(word, byte int) uint8 { return uint8(word/4*2 + byte) }

// iq1_S unpacks ggml's block_iq1_s: d, 32 lower bytes of entry numbers, then a word for each
// sub-block: three upper bits for each of four entries, s in bits 12–14, and the sign of the shift in bit 15.
func (b *gridBlock) iq1_S() {
	b.keepFactor(b.half2(at(b.block, 0)))
	s, shifts := b.YMM(), b.YMM()
	b.VPMOVZXWD(at(b.block, 34), s)
	b.VPSLLD(operand.U8(16), s, shifts)
	b.VPSRAD(operand.U8(31), shifts, shifts)
	b.keepShifts(shifts)
	b.VPSRLD(operand.U8(12), s, s)
	b.isa.and(b.gen, b.dwords("dwords7", repeat(8, uint32(7))...), s, s)
	b.keepDwordScales(s)
	b.keepNumbers(32, 2, 34, upper{
		name: "threeBits", step: 8, right: 1, mask: 0x700,
		source: func(m operand.Mem, v reg.VecVirtual) { b.VPBROADCASTQ(m, v) },
		from:   wordOfFour,
		times:  func(word int) int { return 9 - 3*(word%4) },
	}, noMore)
}

// keepShifts stores the shifts of 32 times eight elements. A byte of v is -1 for a shift of -1/8, else 0. For
// floats it stores ±1/8. For AVX2 it stores -2 or 0, which begin8 adds to codes. For AVX-512 it
// stores v, whose bits are the mask of begin8x512.
func (b *gridBlock) keepShifts(v reg.VecVirtual) {
	switch {
	case b.floats:
		up, step := b.gen.floats("eighth", repeat(8, float32(0.125))...), b.load2(b.gen.floats("quarter", repeat(8, float32(0.25))...))
		for i, part := range b.halvesOf(v) {
			for k := range 2 {
				t := b.YMM()
				if k > 0 {
					b.VPSRLDQ(operand.U8(8), part, part)
				}
				b.VPMOVSXBD(part, t)
				b.VCVTDQ2PS(t, t)
				b.VFMADD213PS(up, step, t)
				b.VMOVUPS(t, b.stack.Offset(gridSigns+64*i+32*k))
			}
		}
		return
	case b.isa.lanes == avx2.lanes:
		b.VPADDB(v, v, v)
	}
	b.VMOVUPS(v, b.stack.Offset(gridSigns))
}

// iq1_M unpacks ggml's block_iq1_m: 32 lower bytes of entry numbers, then a nibble for each entry
// (three upper bits, and the sign of the shift), then four words: each has four s of three bits
// in bits 0–11, and a nibble of d in bits 12–15.
func (b *gridBlock) iq1_M() {
	b.keepFactor(b.spreadHalf(at(b.block, 48)))
	s, order, times := b.YMM(), []byte{}, []uint32{}
	for word := range 16 {
		order = append(order, wordOfFour(word, 0), wordOfFour(word, 1))
		if word%4 == 0 {
			times = append(times, 1<<9|1<<6<<16, 1<<3|1<<16)
		}
	}
	b.VPBROADCASTQ(at(b.block, 48), s)
	b.VPSHUFB(b.gen.bytes("wordOfFour", order...), s, s)
	b.VPMULLW(b.dwords("scalesTimes", times...), s, s)
	b.VPSRLW(operand.U8(9), s, s)
	b.isa.and(b.gen, b.dwords("words7", repeat(8, uint32(0x00070007))...), s, s)
	b.keepWordScales(s)
	var shifts [2]reg.VecVirtual
	b.keepNumbers(32, 0, 32, upper{
		name: "nibble", step: 8, right: 4, mask: 0x700,
		source: func(m operand.Mem, v reg.VecVirtual) { b.VPBROADCASTQ(m, v) },
		from:   wordOfFour,
		times:  func(word int) int { return 12 - 4*(word%4) },
	}, func(i int, v reg.VecVirtual) {
		shifts[i] = b.YMM()
		b.VPSLLW(operand.U8(4), v, shifts[i])
		b.VPSRAW(operand.U8(15), shifts[i], shifts[i])
	})
	b.VPACKSSWB(shifts[1], shifts[0], shifts[0])
	b.VPERMQ(operand.U8(0xd8), shifts[0], shifts[0])
	b.keepShifts(shifts[0])
}
