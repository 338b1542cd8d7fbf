package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What the loops of low8grid.go leave on the stack of a block, per format.

// keepFactor leaves the factor of a block of a half on the stack.
func (b *gridBlock) keepFactor(d reg.VecVirtual) {
	b.VMULSS(b.floats("byteUnit"+b.Type.String(), repeat(8, b.unit)...), d.AsX(), d.AsX())
	b.VMOVSS(d.AsX(), b.stack.Offset(gridFactor))
}

// keepScales leaves 2s+1 on the stack, for eight s of 32 elements each, dwords.
func (b *gridBlock) keepDwordScales(s reg.VecVirtual) {
	b.VPADDD(s, s, s)
	b.isa.or(b.gen, b.dwords("dwords1", repeat(8, uint32(1))...), s, s)
	b.twice(s)
	b.VMOVUPS(s, b.stack.Offset(gridScales))
}

// keepWordScales does it for 16 s of 16 elements each, words.
func (b *gridBlock) keepWordScales(s reg.VecVirtual) {
	b.VPADDW(s, s, s)
	b.isa.or(b.gen, b.ones16(), s, s)
	b.VMOVUPS(s, b.stack.Offset(gridScales))
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
		b.VMOVUPS(numbers, b.stack.Offset(gridNumbers+32*i))
	}
}

func noMore(int, reg.VecVirtual) {}

func (b *gridBlock) iq2_XXS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	v, w := b.load2(at(b.block, 2)), b.load2(at(b.block, 34))
	b.VSHUFPS(operand.U8(0xdd), w, v, v) // the upper dwords of quadwords
	b.VPERMQ(operand.U8(0xd8), v, v)
	b.keepSevens(v)
}

func (b *gridBlock) iq3_XXS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepSevens(b.load2(at(b.block, 66)))
}

func (b *gridBlock) iq2_XS() {
	b.keepFactor(b.half2(at(b.block, 0)))
	b.keepNibbleScales(66)
	var signs [2]reg.VecVirtual
	for i := range signs {
		signs[i] = b.load2(at(b.block, 2+32*i))
		t := b.YMM()
		b.isa.and(b.gen, b.dwords("words511", repeat(8, uint32(0x01ff01ff))...), signs[i], t)
		b.VMOVUPS(t, b.stack.Offset(gridNumbers+32*i))
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

// keepShifts leaves bytes on the stack that are -1 where the shift is downward, or twice that: see the loops.
func (b *gridBlock) keepShifts(v reg.VecVirtual) {
	if b.isa.lanes == avx2.lanes {
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
