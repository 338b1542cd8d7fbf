package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What the loops of formats with a code book leave on the stack of a block, per format: numbers of entries, signs and
// scales are made for the whole block with instructions of vectors. So an entry takes one load of its number and one of
// itself.

// Where the stack has what of a block. For bytes: scales as 16 words and after them the factor of all, 32 bytes of
// signs or of shifts, the scales as evenOdd leaves them, and numbers of entries as words. For floats scales and shifts are floats,
// and numbers are offsets of entries.
const (
	gridScales, gridFactor, gridSigns, gridWords, gridNumbers = 0, 32, 64, 96, 192
	gridStack                                                 = 320
)

// eightFloats and fourFloats are the sizes in bytes of entries of that many floats, as shifts.
const eightFloats, fourFloats = 5, 4

// gridBlock is a block and where its numbers are.
type gridBlock struct {
	*gen
	grid
	isa         isa
	floats      bool // what is multiplied
	block, book reg.Register
	stack       operand.Mem
	sub         int            // the number of the sub-block
	d, words    reg.VecVirtual // the factor, and scales as evenOdd leaves them
}

// blocks returns what emits a block of each row: unpack leaves the next one's numbers on the stack while multiply takes
// this one's. So what is stored is loaded long after, and nothing waits for it. Of the last block it is the same one again.
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

// keepFactor keeps the factor of a block of a half: for floats in a register.
func (b *gridBlock) keepFactor(d reg.VecVirtual) {
	unit := b.unit
	if b.shifted() && !b.floats {
		unit /= 8 // codes are eight times the values, and the shift
	}
	b.d = d
	b.VMULPS(b.gen.floats(fmt.Sprintf("gridUnit%d", int(8*unit)), repeat(8, unit)...), d, d)
	if !b.floats {
		b.VMOVSS(d.AsX(), b.stack.Offset(gridFactor))
	}
}

// keepDwordScales leaves 2s+1 on the stack, for eight s of 32 elements each, dwords.
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

// keepWordScales does it for 16 s of 16 elements each, words.
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

// keepFloats leaves eight integers times the factor on the stack.
func (b *gridBlock) keepFloats(i int, v reg.VecVirtual) {
	b.VCVTDQ2PS(v, v)
	b.VMULPS(b.d, v, v)
	b.VMOVUPS(v, b.stack.Offset(gridScales+32*i))
}

// halvesOf returns both halves of a register.
func (b *gridBlock) halvesOf(v reg.VecVirtual) [2]reg.Register {
	high := b.XMM()
	b.VEXTRACTI128(operand.U8(1), v, high)
	return [2]reg.Register{v.AsX(), high}
}

// keepNibbleScales does it for 16 nibbles from a place in the block on.
func (b *gridBlock) keepNibbleScales(offset int) {
	s, high := b.YMM(), b.YMM()
	b.VPMOVZXBD(at(b.block, offset), s)
	b.VPSLLD(operand.U8(12), s, high)
	b.isa.or(b.gen, high, s, s)
	b.isa.and(b.gen, b.dwords("words15", repeat(8, uint32(0x000f000f))...), s, s)
	b.keepWordScales(s)
}

// keepSigns leaves bytes of seven signs on the stack, with an eighth that makes their number even.
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
	b.VPADDB(high, t, t) // of bits 7: an exclusive or
	b.isa.or(b.gen, t, v, v)
	b.VMOVUPS(v, b.stack.Offset(gridSigns))
}

// keepSevens does it for eight dwords of four times seven bits, and leaves what is above them as scales.
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

// upper describes the upper bits of the numbers of 16 entries: source bytes or words are spread to words, multiplied so
// that the bits of each are above its byte and right bits to the left, and masked.
type upper struct {
	name   string
	source func(m operand.Mem, v reg.VecVirtual) // loads what is for 16 entries, everywhere
	step   int                                   // its size
	from   func(word, byte int) byte             // where the byte of a word comes from
	times  func(word int) int                    // a shift to the left
	right  uint8
	mask   uint16
}

// keepNumbers leaves n numbers on the stack: bytes from a place in the block on, and upper bits from another one. It
// calls more with the words of each 16 before they are masked.
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

// keepEntries leaves 16 numbers on the stack, words.
func (b *gridBlock) keepEntries(v reg.VecVirtual, i int) {
	if b.floats {
		b.VPSLLW(operand.U8(b.entryShift()), v, v)
	}
	b.VMOVUPS(v, b.stack.Offset(gridNumbers+32*i))
}

// keepByteEntries does it for bytes.
func (b *gridBlock) keepByteEntries(from operand.Op, i int) {
	v := b.YMM()
	b.VPMOVZXBW(from, v)
	b.keepEntries(v, i)
}

func noMore(int, reg.VecVirtual) {}

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

func (b *gridBlock) iq3_XXS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepSevens(b.load2(at(b.block, 66)))
	for i := 0; i < 4 && b.floats; i++ {
		b.keepByteEntries(at(b.block, 2+16*i), i)
	}
}

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

// wordOfFour is where words come from of which four have the same.
func wordOfFour(word, byte int) uint8 { return uint8(word/4*2 + byte) }

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

// keepShifts takes bytes that are -1 where the shift is downward. It leaves them on the stack, doubled for AVX2, see the
// loops; for floats it leaves what is added to values.
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
